// Part 2: the place of a key, step by step.

import { CuckooFilter } from "./coua.js";
import { BIRDS, BUCKET_SLOTS, SMALL, check, stateOf } from "./state.js";
import { el, field, fill, filterTable, fly, hex, number, paragraph, slotsOf, steps, t, words } from "./ui.js";

export function two(root, save) {
  const state = stateOf("two", { key: "cuckoo", step: 0 });
  const others = BIRDS.slice(0, 24);
  const filter = new CuckooFilter(SMALL);
  others.forEach((bird) => filter.add(bird));
  const before = filter.table();
  const { buckets } = before;
  const input = el("input", { type: "text", value: state.key, autocomplete: "off", maxlength: 40, oninput: () => {
    state.key = input.value || "cuckoo";
    story.show();
  } });

  /** The table with the key inserted. */
  function inserted() {
    const copy = CuckooFilter.load(filter.save());
    copy.insert(state.key);
    check(copy.has(state.key), true);
    others.forEach((bird) => check(copy.has(bird), true));
    return copy.table();
  }

  function facts() {
    const place = filter.locate(state.key);
    const after = inserted();
    const old = slotsOf(before);
    const slot = [...slotsOf(after).values()].find(({ n, r }) => old.get(n)?.r !== r);
    const fraction = Number(BigInt(`0x${place.hash}`)) / 2 ** 64;
    const at = Math.floor(slot.n / BUCKET_SLOTS);
    const other = slot.c ? place.primary : place.alternate;
    const values = {
      hash: place.hash, buckets, fraction: fraction.toFixed(4), product: (fraction * buckets).toFixed(2),
      primary: place.primary, alternate: place.alternate, step: place.step, bits: place.fingerprintBits,
      fingerprint: hex(place.fingerprint, place.fingerprintBits),
      where: t(slot.c ? "twoWhereAlternate" : "twoWherePrimary"), choice: slot.c, at, other,
    };
    values.here = t(slot.c ? "twoBack" : "twoForth", values);
    values.there = `${other} ${slot.c ? "+" : "−"} ${place.step} → ${at}`;
    return { place, after, slot, values };
  }

  function frames() {
    const { place, after, slot, values } = facts();
    return words("twoSteps").map((text, step) => {
      const framed = { primary: step >= 1 ? place.primary : undefined, alternate: step >= 3 ? place.alternate : undefined };
      const isIn = step >= 4;
      const cell = ({ n }) => (isIn && n === slot.n ? { text: `${values.fingerprint}·${slot.c}`, kind: "new", link: "fingerprint choice" } : {});
      return {
        text: fill(text, values),
        draw: (label) => filterTable(isIn ? after : before, { label, place: framed, cell }),
        after: (table, isNext) => isNext && step === 4 && fly(table.querySelector(".slot.new")),
      };
    });
  }

  const story = steps(state, frames, save);
  root.append(paragraph("two1", { buckets: number(buckets) }), el("div", { class: "controls" }, field("twoKey", input)),
    ...story.nodes, paragraph("twoNote", { buckets }));
  story.show();
}

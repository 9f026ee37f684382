// Part 2: the place of a key, step by step.

import { CuckooFilter } from "./coua.js";
import { BIRDS, BUCKET_SLOTS, SMALL, check, stateOf, within } from "./state.js";
import { bucketTable, el, field, fill, fly, hex, live, number, paragraph, rich, stepper, t, words } from "./ui.js";

const TWO_STEPS = 6;

/** The slot that the next insert fills. */
function newSlot(before, after) {
  const old = new Map((before.segments[0].slots ?? []).map((slot) => [slot.n, slot.r]));
  return after.segments[0].slots.find((slot) => old.get(slot.n) !== slot.r);
}

export function two(root, save) {
  const state = stateOf("two", { key: "cuckoo", step: 0 });
  state.step = within(state.step, 0, TWO_STEPS - 1);
  const others = BIRDS.slice(0, 24);
  const filter = new CuckooFilter(SMALL);
  others.forEach((bird) => filter.add(bird));
  const before = filter.table();
  const { buckets } = before.parameters;
  const input = el("input", { type: "text", value: state.key, autocomplete: "off", maxlength: 40 });
  const figure = el("div", { class: "figure" });
  const story = live();

  /** The filter with the key inserted. */
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
    const slot = newSlot(before, after);
    const fraction = Number(BigInt(`0x${place.hash}`)) / 2 ** 64;
    const other = slot.c ? place.primary : place.alternate;
    const values = {
      hash: place.hash, buckets, fraction: fraction.toFixed(4), product: (fraction * buckets).toFixed(2),
      primary: place.primary, alternate: place.alternate, step: place.step, bits: place.fingerprintBits,
      fingerprint: hex(place.fingerprint, place.fingerprintBits),
      where: t(slot.c ? "twoWhereAlternate" : "twoWherePrimary"), choice: slot.c, at: slot.b, other,
    };
    values.here = t(slot.c ? "twoBack" : "twoForth", values);
    values.there = `${other} ${slot.c ? "+" : "−"} ${place.step} → ${slot.b}`;
    return { place, after, slot, values };
  }

  function cellOf(table, { place, slot }) {
    const used = new Map(table.segments[0].slots.map((each) => [each.n, each]));
    return (bucket, position) => {
      const found = used.get(bucket * BUCKET_SLOTS + position);
      if (!found) return { text: "" };
      const isNew = state.step >= 4 && found.n === slot.n;
      const digits = hex(found.f, table.segments[0].fingerprintBits);
      const link = isNew ? "fingerprint choice" : undefined;
      return { text: isNew ? `${digits}·${found.c}` : digits, kind: isNew ? "new" : "used", link, key: found.f };
    };
  }

  function headingOf(place) {
    return (bucket) => {
      if (bucket === place.primary && state.step >= 1) return { text: `${bucket}`, kind: "primary", link: "primary" };
      if (bucket === place.alternate && state.step >= 3) return { text: `${bucket}`, kind: "alternate", link: "alternate" };
      return { text: `${bucket}` };
    };
  }

  /** `isNext`: one step further than before. */
  function show(isNext) {
    const found = facts();
    const table = state.step >= 4 ? found.after : before;
    story.replaceChildren(...rich(fill(words("twoSteps")[state.step], found.values)));
    figure.replaceChildren(bucketTable({
      buckets, label: story.textContent,
      cell: cellOf(table, found), heading: headingOf(found.place),
    }));
    if (isNext && state.step === 4) fly(figure.querySelector(".slot.new"));
    steps.show();
    save();
  }

  input.addEventListener("input", () => {
    state.key = input.value || "cuckoo";
    show();
  });
  const steps = stepper(() => TWO_STEPS, () => state.step, (step) => {
    const isNext = step === state.step + 1;
    state.step = step;
    show(isNext);
  });
  root.append(paragraph("two1", { buckets: number(buckets) }),
    el("div", { class: "controls" }, field("twoKey", input)), steps.node, story, figure,
    paragraph("twoNote", { buckets }));
  show();
}

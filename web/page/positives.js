// Part 4: false positives, found and measured.

import { CuckooFilter } from "./coua.js";
import { BIRDS, SMALL, check, checkAll, stateOf, within } from "./state.js";
import { button, chart, el, filterTable, hex, live, number, paragraph, percent, rich, stateSlider, t } from "./ui.js";

const STORED = 45;
const ITEMS = 1000;
const [FEWEST_BITS, MOST_BITS] = [5, 20];

/** The small filter, the birds in it, and a stranger at the place of one of them. */
export function strangerIn() {
  const filter = new CuckooFilter(SMALL);
  const stored = BIRDS.slice(0, STORED);
  stored.forEach((bird) => filter.add(bird));
  for (let tries = 1; tries < 100_000; tries += 1) {
    const stranger = `stranger-${tries}`;
    if (!filter.has(stranger)) continue;
    const place = filter.locate(stranger);
    const key = stored.find((bird) => filter.locate(bird).representative === place.representative);
    return { filter, stranger, key, tries, place };
  }
  throw new Error("no stranger was found");
}

/** A table with the buckets of a stranger, and the name of the key whose slot it meets. */
export const strangerTable = (table, label, { place, key }) => filterTable(table, {
  label, place, cell: ({ r, f }) => (r === place.representative ? { text: key, kind: "match", key: f } : {}),
});

/** 1000 items in slots of this many bits, and lookups of enough strangers for some wrong answers. */
function measure(bits) {
  const filter = new CuckooFilter({ capacity: ITEMS, rate: Math.min(0.99, 8 / 2 ** bits) });
  filter.addMany(Array.from({ length: ITEMS }, (_, n) => `item-${n}`));
  const { falsePositiveRate: law, slots, slotBits } = filter.describe();
  const asked = within(40 / law, 2000, 200_000);
  const answers = filter.hasMany(Array.from({ length: asked }, (_, n) => `stranger-${n}`));
  checkAll(answers, () => false);
  const wrong = answers.filter(Boolean).length;
  return { law, slots, bits: slotBits, asked, wrong, rate: wrong / asked };
}

export function positives(root, save) {
  const state = stateOf("fp", { bits: 8, search: 0 });
  const found = live();
  const place = el("div", { class: "figure" });
  const figure = el("div", { class: "figure" });
  const text = live();
  const kept = new Map();

  function search() {
    const met = strangerIn();
    check(met.filter.has(met.stranger), false);
    state.search = 1;
    found.replaceChildren(...rich(t("fpFound", {
      ...met, tries: number(met.tries), primary: met.place.primary, alternate: met.place.alternate,
      fingerprint: hex(met.place.fingerprint, met.place.fingerprintBits),
    })));
    place.replaceChildren(strangerTable(met.filter.table(), found.textContent, met));
    save();
  }

  function show() {
    if (!kept.has(state.bits)) kept.set(state.bits, measure(state.bits));
    const now = kept.get(state.bits);
    text.textContent = t("fpMeasured", {
      n: number(ITEMS), slots: number(now.slots), bits: now.bits, law: percent(now.law), asked: number(now.asked),
      wrong: number(now.wrong), measured: percent(now.rate),
    });
    const law = Array.from({ length: MOST_BITS - FEWEST_BITS + 1 }, (_, n) => n + FEWEST_BITS);
    // At the same load, one more bit halves the rate.
    const points = law.map((bits) => [bits, now.law * 2 ** (now.bits - bits)]);
    figure.replaceChildren(chart({
      label: `${t("fpCurve")}. ${text.textContent}`,
      x: { name: t("fpBits"), min: FEWEST_BITS, max: MOST_BITS, ticks: [6, 8, 10, 12, 14, 16, 18, 20], text: String },
      y: { name: t("rate"), min: 1e-6, max: 1, log: true, ticks: [1, 0.1, 0.01, 0.001, 1e-4, 1e-5], text: percent },
      series: [
        { kind: "blue", points, name: t("fpLaw") },
        { kind: "orange", points: [...kept.values()].map((each) => [each.bits, each.rate]), dots: 3 },
        { kind: "orange", points: [[now.bits, now.rate]], dots: 6, name: t("fpPoint") },
      ],
    }));
    save();
  }

  const bits = stateSlider("fpBits", state, "bits", { min: FEWEST_BITS, max: MOST_BITS }, show);
  const { buckets } = new CuckooFilter(SMALL).table();
  root.append(paragraph("fp1"), el("div", { class: "controls" }, button("fpSearch", search)), found, place,
    paragraph("fp2", { buckets }), el("div", { class: "controls" }, bits), text,
    el("h3", {}, t("fpCurve")), figure);
  if (state.search) search();
  show();
}

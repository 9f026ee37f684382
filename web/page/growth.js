// Part 6: a filter that grows by splitting, compared with a chain of filters.

import { CuckooFilter } from "./coua.js";
import { checkAll, stateOf } from "./state.js";
import { chart, el, live, number, paragraph, pause, percent, segmentBars, size, stateSlider, t } from "./ui.js";

const GROW_RATE = 0.001;
const GROW_FIRST = 60_000;
const GROW_STEP = 25_000;
const GROW_MOST = 400_000;
const STRANGERS = 20_000;
const GROW_STEPS = GROW_MOST / GROW_STEP;
/** In none of the filters; the page shows where it would be. */
const GROW_KEY = "kestrel";

/** Both ways to grow, measured step by step, once for both languages. */
const records = [];
let work;

async function measureGrowth(each) {
  const coua = new CuckooFilter({ capacity: GROW_FIRST, maxItems: GROW_MOST, rate: GROW_RATE });
  const chain = [];
  const strangers = Array.from({ length: STRANGERS }, (_, n) => `stranger-${n}`);
  for (let step = 1; step <= GROW_STEPS; step += 1) {
    const keys = Array.from({ length: GROW_STEP }, (_, n) => `item-${(step - 1) * GROW_STEP + n}`);
    keys.forEach((key, n) => {
      coua.insert(key);
      // The last filter of the chain is full.
      if (((step - 1) * GROW_STEP + n) % GROW_FIRST === 0) chain.push(new CuckooFilter({ capacity: GROW_FIRST, rate: GROW_RATE }));
      chain.at(-1).insert(key);
    });
    await pause();
    checkAll(coua.hasMany(keys), () => true);
    const answers = coua.hasMany(strangers);
    checkAll(answers, () => false);
    const ofChain = chain.map((filter) => filter.hasMany(strangers));
    const wrong = strangers.filter((_, n) => ofChain.some((all) => all[n])).length;
    const { memoryBytes } = coua.describe();
    records.push({
      items: step * GROW_STEP, ...coua.table(), memory: memoryBytes, place: coua.locate(GROW_KEY),
      coua: answers.filter(Boolean).length / STRANGERS, chain: wrong / STRANGERS, filters: chain.length,
    });
    each();
    await pause();
  }
}

/** The bits of a hash that the filter keeps, cut in three. */
export function rulerParts({ place: { hash, segment, primary, fingerprint, fingerprintBits }, segments, buckets }) {
  const { depth } = segments[segment];
  const part = (name, bits, digits) => el("span", { class: name, style: `flex-grow:${bits}` }, el("b", {}, digits),
    el("small", {}, t(name, { bits: number(bits, 1) })));
  return [part("rulerSegment", depth, BigInt(`0x${hash}`).toString(2).padStart(64, "0").slice(0, depth)),
    part("rulerBucket", Math.log2(buckets), number(primary)),
    part("rulerFingerprint", fingerprintBits, fingerprint.toString(2).padStart(fingerprintBits, "0"))];
}

export function growth(root, save) {
  const state = stateOf("grow", { step: 5 });
  const text = live();
  const bar = el("div");
  const figure = el("div", { class: "figure" });
  const chainText = el("p");
  const ruler = el("div", { class: "ruler" });

  function show() {
    const now = records[Math.min(state.step, records.length) - 1];
    if (!now) return;
    const bits = [...new Set(now.segments.map((segment) => segment.fingerprintBits))].sort((a, b) => b - a);
    text.textContent = t("growText", {
      items: number(now.items), segments: now.segments.length, bits: bits.join(" / "), memory: size(now.memory),
    });
    ruler.replaceChildren(...rulerParts(now));
    bar.replaceChildren(segmentBars(`${t("growSegments")}. ${text.textContent}`, now.segments, now.segmentSlots));
    const series = (name) => records.map((record) => [record.items, record[name]]);
    chainText.textContent = t("growChartText", {
      chain: percent(now.chain), filters: now.filters, coua: percent(now.coua), promised: percent(GROW_RATE),
    });
    figure.replaceChildren(chart({
      label: `${t("growChart")}. ${chainText.textContent}`,
      x: { name: t("growItems"), min: 0, max: GROW_MOST, ticks: [0, GROW_MOST / 4, GROW_MOST / 2, (3 * GROW_MOST) / 4, GROW_MOST], text: number },
      y: { name: t("rate"), min: 0, max: 0.008, ticks: [0, 0.002, 0.004, 0.006, 0.008], text: percent },
      series: [
        { kind: "orange", points: series("chain"), name: t("growChain") },
        { kind: "blue", points: series("coua"), name: t("growCoua") },
        { kind: "blue", points: [[now.items, now.coua]], dots: 5 },
        { kind: "orange", points: [[now.items, now.chain]], dots: 5 },
      ],
    }));
    save();
  }

  const items = stateSlider("growItems", state, "step", { min: 1, max: GROW_STEPS, text: (step) => number(step * GROW_STEP) }, show);
  root.append(paragraph("grow1"), el("div", { class: "controls" }, items),
    text, el("p", { class: "small" }, t("growRuler", { key: GROW_KEY })), ruler, el("p", { class: "small" }, t("growSegments")), bar, el("h3", {}, t("growChart")), figure, chainText);
  growth.show = show;
  work ??= measureGrowth(() => growth.show());
  show();
}

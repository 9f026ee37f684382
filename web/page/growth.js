// Part 6: a filter that grows by splitting, compared with a chain of filters.

import { CuckooFilter } from "./coua.js";
import { checkAll, stateOf, within } from "./state.js";
import { chart, el, field, live, number, paragraph, pause, percent, rich, roundPercent, size, slider, t, whenNear } from "./ui.js";

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
  const chain = [new CuckooFilter({ capacity: GROW_FIRST, rate: GROW_RATE })];
  const strangers = Array.from({ length: STRANGERS }, (_, n) => `stranger-${n}`);
  for (let step = 1; step <= GROW_STEPS; step += 1) {
    const keys = Array.from({ length: GROW_STEP }, (_, n) => `item-${(step - 1) * GROW_STEP + n}`);
    for (const key of keys) coua.insert(key);
    addToChain(chain, keys);
    await pause();
    checkAll(coua.hasMany(keys), () => true);
    const answers = coua.hasMany(strangers);
    checkAll(answers, () => false);
    const ofChain = chain.map((filter) => filter.hasMany(strangers));
    const wrong = strangers.filter((_, n) => ofChain.some((all) => all[n])).length;
    const { memoryBytes } = coua.describe();
    records.push({
      items: step * GROW_STEP, ...coua.table({ slots: false }), memory: memoryBytes, place: coua.locate(GROW_KEY),
      coua: answers.filter(Boolean).length / STRANGERS, chain: wrong / STRANGERS, filters: chain.length,
    });
    each();
    await pause();
  }
}

function addToChain(chain, keys) {
  for (const key of keys) {
    try {
      chain.at(-1).insert(key);
    } catch {
      chain.push(new CuckooFilter({ capacity: GROW_FIRST, rate: GROW_RATE }));
      chain.at(-1).insert(key);
    }
  }
}

export function growth(root, save) {
  const state = stateOf("grow", { step: 5 });
  state.step = within(state.step, 1, GROW_STEPS);
  const text = live();
  const bar = el("div", { class: "segments", role: "img", "aria-label": t("growSegments") });
  const figure = el("div", { class: "figure" });
  const chainText = el("p");
  const example = live();

  function show() {
    const now = records[Math.min(state.step, records.length) - 1];
    if (!now) return;
    const bits = [...new Set(now.segments.map((segment) => segment.fingerprintBits))].sort((a, b) => b - a);
    text.textContent = t("growText", {
      items: number(now.items), segments: now.segments.length, bits: bits.join(" / "), memory: size(now.memory),
    });
    const { segment, fingerprint, fingerprintBits } = now.place;
    const { prefix, depth } = now.segments[segment];
    example.replaceChildren(...rich(t("growExample", {
      key: GROW_KEY, prefix: BigInt(`0x${prefix}`).toString(2).padStart(64, "0").slice(0, depth),
      fingerprint: fingerprint.toString(2).padStart(fingerprintBits, "0"), bits: fingerprintBits,
    })));
    bar.setAttribute("aria-label", `${t("growSegments")}. ${text.textContent}`);
    bar.replaceChildren(...now.segments.map((segment) => {
      const load = segment.occupied / now.parameters.segmentSlots;
      const level = segment.fingerprintBits === bits[0] ? "" : "split";
      return el("span", { class: level, style: `flex-grow:${2 ** (20 - segment.depth)};--load:${(100 * load).toFixed(0)}%`, title: percent(load) },
        el("i"), el("b", {}, segment.fingerprintBits));
    }));
    const series = (name) => records.map((record) => [record.items, record[name]]);
    chainText.textContent = t("growChartText", {
      chain: percent(now.chain), filters: now.filters, coua: percent(now.coua), promised: percent(GROW_RATE),
    });
    figure.replaceChildren(chart({
      label: `${t("growChart")}. ${chainText.textContent}`,
      x: { min: 0, max: GROW_MOST, ticks: [0, GROW_MOST / 4, GROW_MOST / 2, (3 * GROW_MOST) / 4, GROW_MOST], text: number },
      y: { min: 0, max: 0.008, ticks: [0, 0.002, 0.004, 0.006, 0.008], text: roundPercent },
      series: [
        { kind: "orange", points: series("chain"), name: t("growChain") },
        { kind: "blue", points: series("coua"), name: t("growCoua") },
        { kind: "blue", points: [[now.items, now.coua]], dots: 5 },
        { kind: "orange", points: [[now.items, now.chain]], dots: 5 },
      ],
    }));
    save();
  }

  const items = slider({ min: 1, max: GROW_STEPS, value: state.step, text: (step) => number(step * GROW_STEP), oninput: (step) => {
    state.step = step;
    show();
  } });
  root.append(paragraph("grow1"), el("div", { class: "controls" }, field("growItems", items.control, items.shown)),
    text, el("p", { class: "small" }, t("growSegments")), bar, example, el("h3", {}, t("growChart")), figure, chainText);
  growth.show = show;
  whenNear(figure, () => (work ??= measureGrowth(() => growth.show())));
  show();
}

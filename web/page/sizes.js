// Part 7: the memory of filters for some items and rate.

import { plan } from "./coua.js";
import { stateOf } from "./state.js";
import { el, number, paragraph, size, stateSlider, t } from "./ui.js";

/** Names, and what each kind can do, in the order of the plan. */
const KINDS = [
  ["sizeCuckoo", "sizeRemoves"], ["sizeBloom", "sizeInserts"], ["sizeBlockedBloom", "sizeInserts"],
  ["sizeQuotient", "sizeRemoves"], ["sizeBinaryFuse", "sizeFixed"], ["sizeHashSet", "sizeExact"],
];
/** Sliders have ten steps for each power of ten. */
const value = (step) => Number((10 ** (step / 10)).toPrecision(2));

export function sizes(root, save) {
  const state = stateOf("size", { items: 80, rate: 30 });
  const bars = el("div", { class: "bars" });

  function show() {
    const items = value(state.items);
    const found = plan(items, 1 / value(state.rate));
    const most = Math.max(...found);
    bars.replaceChildren(...KINDS.map(([name, can], n) => {
      const bytes = found[n];
      const text = bytes === null ? t("sizeCannot")
        : t("sizePerItem", { size: size(bytes), bits: number((8 * bytes) / items, 1) });
      return el("div", { class: "bar" }, el("span", {}, t(name), el("small", {}, t(can))),
        el("span", { class: "track" }, el("i", { style: `width:${(100 * bytes) / most}%` })), el("span", {}, text));
    }));
    save();
  }

  const text = (step) => number(value(step));
  root.append(paragraph("size1", { command: "`coua plan`" }), el("div", { class: "controls" },
    stateSlider("sizeItems", state, "items", { min: 20, max: 110, text }, show),
    stateSlider("sizeRate", state, "rate", { min: 7, max: 90, text }, show)), bars);
  show();
}

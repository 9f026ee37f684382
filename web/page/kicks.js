// Chains of kicks, shown one by one: the newcomer takes a slot, and what was there is in hand until it has another one.

import { arrows, el, fly, slotCell, t } from "./ui.js";

/** Arrows of a long chain that are shown. */
const MOST_ARROWS = 6;

/** What is in hand above the slots. */
function inHand(item) {
  const held = item ? slotCell({ text: item.text, kind: "used", key: item.key }, { "data-slot": "hand" }) : undefined;
  return el("p", { class: "hand" }, t("hand"), held ?? el("span", {}, "–"), item && el("small", {}, item.name));
}

/**
 * The frames of an insert. `chain` has the slots before it, its moves in order, `{ to, hand, out }`, and the homeless item
 * in the end. `text(step)` says what happens, `table(label, shown, step)` shows the slots.
 */
export function kickFrames({ before, moves, homeless }, text, table) {
  return Array.from({ length: moves.length + 1 }, (_, step) => {
    const done = moves.slice(0, step);
    const hand = moves[step]?.hand ?? homeless;
    const draw = (label) => {
      const shown = new Map(before);
      done.forEach(({ to, hand }) => shown.set(to, hand));
      return el("div", { class: "kicks" }, inHand(hand), ...table(label, shown, step));
    };
    const after = (node, isNext) => {
      const path = done.slice(1).map(({ to }, n) => ({ from: done[n].to, to }));
      arrows(node, path.slice(-MOST_ARROWS));
      const place = done.at(-1) && node.querySelector(`[data-slot="${done.at(-1).to}"]`);
      if (!isNext || !place) return;
      const above = node.querySelector(".hand");
      if (hand) fly(above.querySelector(".slot"), place);
      fly(place, above);
    };
    return { text: text(step), isBad: step === moves.length && homeless !== undefined, draw, after };
  });
}

/** The item of slot `n` in a step of a chain, with the class of the slot. */
export function kickedSlot({ moves }, shown, step, n) {
  const last = moves.slice(0, step).findLastIndex(({ to }) => to === n);
  const kind = last < 0 ? "used" : last === step - 1 ? "new" : "moved";
  return shown.get(n) && { ...shown.get(n), kind };
}

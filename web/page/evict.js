// Part 3: chains of evictions, and inserts without room.

import { CuckooFilter } from "./coua.js";
import { BIRDS, BUCKET_SLOTS, checkAll, stateOf, within } from "./state.js";
import { TextbookFilter } from "./textbook.js";
import { arrows, bucketTable, button, chart, el, field, fly, hex, live, number, paragraph, pause, percent, roundPercent, slider, stepper, t, whenNear } from "./ui.js";

/** Refuses instead of growing, with no limit but its slots: 16 buckets of 4. */
const FULL = { capacity: 55, hashBits: 12, whenFull: "refuse" };
const LARGE = { capacity: 467, hashBits: 24, whenFull: "refuse" };
const SLOTS = 64;
const TRIED = 100;
const keyOf = (n) => BIRDS[n] ?? `bird-${n}`;

const slotsOf = (table) => new Map((table.segments[0].slots ?? []).map((slot) => [slot.n, slot]));

/** The moves of an insert, the new item last: each item that left its slot, from the tables before and after. */
function movesBetween(before, after) {
  const [old, now] = [slotsOf(before), slotsOf(after)];
  const changed = [...now.values()].filter((slot) => old.get(slot.n)?.r !== slot.r);
  const left = new Map();
  for (const slot of old.values()) {
    if (now.get(slot.n)?.r !== slot.r) left.set(slot.r, [...(left.get(slot.r) ?? []), slot]);
  }
  const moves = [];
  let newcomer;
  for (const slot of changed) {
    const from = left.get(slot.r)?.pop();
    if (from) moves.push({ from: from.n, to: slot.n, fromBucket: from.b, toBucket: slot.b });
    else newcomer = slot;
  }
  // From the free slot back to the newcomer.
  const ordered = [];
  let at = newcomer?.n;
  while (ordered.length < moves.length) {
    const next = moves.find((move) => move.from === at) ?? moves.find((move) => !ordered.includes(move));
    ordered.unshift(next);
    at = next.to;
  }
  return { moves: ordered, newcomer };
}

/** Tables after 0, 1, 2 ... inserts, until the filter is full. */
function tablesOf(options, most) {
  const filter = new CuckooFilter(options);
  const tables = [filter.table()];
  try {
    for (let n = 0; n < most; n += 1) {
      filter.insert(keyOf(n));
      tables.push(filter.table());
    }
  } catch {
    // Full: a refused insert has changed nothing.
  }
  return tables;
}

export function evict(root, save) {
  const tables = tablesOf(FULL, SLOTS);
  const { buckets } = tables[0].parameters;
  const slotCount = buckets * BUCKET_SLOTS;
  const most = tables.length - 1;
  const chainOf = (n) => movesBetween(tables[n - 1], tables[n]);
  const longest = Array.from({ length: most }, (_, n) => n + 1).filter((n) => chainOf(n).moves.length >= 2);
  const state = stateOf("evict", { items: longest.find((n) => chainOf(n).moves.length <= 4) ?? most, step: 0 });
  state.items = within(state.items, 1, most);
  const figure = el("div", { class: "figure" });
  const status = live();
  const stepText = el("p", { class: "small" });
  const stepCount = () => chainOf(state.items).moves.length + 2;

  /** `isNext`: one step further than before. */
  function show(isNext) {
    const { moves, newcomer } = chainOf(state.items);
    state.step = within(state.step, 0, moves.length + 1);
    const done = moves.slice(0, state.step);
    const isPlaced = state.step > moves.length;
    const shown = slotsOf(tables[state.items - 1]);
    for (const { from, to } of done) {
      shown.set(to, slotsOf(tables[state.items]).get(to));
      shown.delete(from);
    }
    if (isPlaced && newcomer) shown.set(newcomer.n, newcomer);
    const load = percent(state.items / slotCount);
    const values = { n: state.items, moves: moves.length, load };
    status.textContent = t(!newcomer ? "evictOverflow" : moves.length ? "evictChain" : "evictNone", values);
    const last = done.at(-1);
    stepText.textContent = isPlaced && newcomer ? t("evictPlace", { to: newcomer.b })
      : last ? t("evictMove", { step: state.step, from: last.fromBucket, to: last.toBucket }) : "";
    const kindOf = (n) => (isPlaced && n === newcomer?.n ? "new" : done.some((move) => move.to === n) ? "moved" : "used");
    const table = bucketTable({
      buckets, label: `${status.textContent} ${stepText.textContent}`,
      cell: (bucket, position) => {
        const n = bucket * BUCKET_SLOTS + position;
        const slot = shown.get(n);
        return slot ? { text: hex(slot.f, tables[0].segments[0].fingerprintBits), kind: kindOf(n), key: slot.f } : { link: "free" };
      },
    });
    figure.replaceChildren(table);
    arrows(table, done);
    const cellOf = (n) => table.querySelector(`[data-slot="${n}"]`);
    if (isNext && isPlaced) fly(newcomer && cellOf(newcomer.n));
    else if (isNext && last) fly(cellOf(last.to), cellOf(last.from));
    steps.show();
    save();
  }

  const items = slider({ min: 1, max: most, value: state.items, oninput: (n) => {
    Object.assign(state, { items: n, step: 0 });
    show();
  } });
  const steps = stepper(stepCount, () => state.step, (step) => {
    const isNext = step === state.step + 1;
    state.step = step;
    show(isNext);
  });
  const nextLong = button("evictNextLong", () => {
    const next = longest.find((n) => n > state.items) ?? longest[0] ?? most;
    Object.assign(state, { items: next, step: 0 });
    items.show(next);
    show();
  });
  const curve = el("div", { class: "figure" });
  const fight = el("div", { class: "figure" });
  root.append(paragraph("evict1"),
    el("div", { class: "controls" }, field("evictItems", items.control, items.shown), nextLong), status, steps.node, stepText, figure,
    el("h3", {}, t("evictChart")), curve, paragraph("evict2"), fight);
  new ResizeObserver(() => arrows(figure.firstChild, chainOf(state.items).moves.slice(0, state.step))).observe(figure);
  show();
  whenNear(curve, () => drawCurve(curve));
  compare(fight, slotCount);
}

/** Measured once for both languages. */
let measured;

async function measureChains() {
  const filter = new CuckooFilter(LARGE);
  const points = [];
  let before = filter.table();
  const slots = before.parameters.segmentSlots;
  for (let n = 0; n <= slots * 0.95; n += 1) {
    filter.insert(`key-${n}`);
    const after = filter.table();
    points.push([n / slots, movesBetween(before, after).moves.length]);
    before = after;
    if (n % 16 === 0) await pause();
  }
  return points;
}

async function drawCurve(curve) {
  measured ??= measureChains();
  const points = await measured;
  const average = (all) => all.reduce((sum, [, moves]) => sum + moves, 0) / Math.max(1, all.length);
  const high = points.filter(([load]) => load >= 0.9);
  const most = Math.max(...points.map(([, moves]) => moves));
  const text = t("evictChartText", {
    low: number(average(points.filter(([load]) => load < 0.5)), 2), high: number(average(high), 1), most,
  });
  curve.replaceChildren(chart({
    label: text,
    x: { min: 0, max: 1, ticks: [0, 0.25, 0.5, 0.75, 1], text: roundPercent },
    y: { min: 0, max: most, ticks: [0, Math.ceil(most / 2), most], text: String },
    series: [{ kind: "blue", points, dots: 2.5 }],
  }), el("p", { class: "small" }, text));
}

/** The same keys in a textbook filter and in Coua's. */
function compare(fight, slots) {
  const coua = new CuckooFilter(FULL);
  const textbook = new TextbookFilter(16);
  const keys = Array.from({ length: TRIED }, (_, n) => keyOf(n));
  const stored = { coua: [], textbook: [] };
  for (const key of keys) {
    const { hash } = coua.locate(key);
    if (textbook.insert(hash).done) stored.textbook.push(key);
    try {
      coua.insert(key);
      stored.coua.push(key);
    } catch {
      // Refused with an error.
    }
  }
  const found = coua.hasMany(stored.coua);
  checkAll(found, () => true);
  const lost = {
    coua: found.filter((yes) => !yes).length,
    textbook: stored.textbook.filter((key) => !textbook.has(coua.locate(key).hash)).length,
  };
  const overflowed = coua.table().overflow.reduce((sum, entry) => sum + entry.withoutSlot, 0);
  const row = (name, a, b, kind = "") => el("tr", {}, el("th", { scope: "row" }, t(name)), el("td", {}, number(a)), el("td", { class: kind }, number(b)));
  fight.replaceChildren(el("table", { class: "numbers" },
    el("caption", {}, t("evictFill", { n: TRIED, slots })),
    el("thead", {}, el("tr", {}, el("td", {}), el("th", { scope: "col" }, "Coua"), el("th", { scope: "col" }, t("evictTextbook")))),
    el("tbody", {}, row("evictAccepted", stored.coua.length, stored.textbook.length),
      row("evictInOverflow", overflowed, 0),
      row("evictRefused", TRIED - stored.coua.length, TRIED - stored.textbook.length),
      row("evictLost", lost.coua, lost.textbook, "bad"))));
}

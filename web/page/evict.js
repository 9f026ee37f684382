// Part 3: chains of kicks, and inserts without room.

import { CuckooFilter } from "./coua.js";
import { kickFrames, kickedSlot } from "./kicks.js";
import { BIRDS, BUCKET_SLOTS, checkAll, stateOf, within } from "./state.js";
import { TEXTBOOK_BITS, TextbookFilter } from "./textbook.js";
import { bucketTable, button, chart, el, field, hex, listed, number, paragraph, pause, percent, rich, slider, slotsOf, speed, steps, t } from "./ui.js";

/** Refuses instead of growing, with no limit but its slots: 16 buckets of 4. */
const FULL = { capacity: 55, hashBits: 11, whenFull: "refuse" };
const LARGE = { capacity: 467, hashBits: 24, whenFull: "refuse" };
const SLOTS = 64;
const TRIED = 100;
/** Kicks of a chain that is worth looking at. */
const LONG = 3;
/** Bytes of an entry of the overflow table. */
const ENTRY_BYTES = 16;
const keyOf = (n) => BIRDS[n] ?? `bird-${n}`;
const kicksOf = ({ moves }) => moves.filter(({ out }) => out).length;
const bucketOf = (n) => Math.floor(n / BUCKET_SLOTS);

/** The moves of an insert in their order, the new item first, from the tables before and after. */
function chainBetween(before, after) {
  const [old, now] = [slotsOf(before), slotsOf(after)];
  const changed = [...now.values()].filter((slot) => old.get(slot.n)?.r !== slot.r);
  const gone = [...old.values()].filter((slot) => now.get(slot.n)?.r !== slot.r).map((slot) => slot.r);
  // The changed slot whose content comes from no other slot.
  const fresh = changed.find((slot) => {
    const from = gone.indexOf(slot.r);
    if (from >= 0) gone.splice(from, 1);
    return from < 0;
  });
  const moves = [];
  let place = fresh;
  while (place) {
    changed.splice(changed.indexOf(place), 1);
    const out = old.get(place.n);
    moves.push({ to: place.n, hand: place, out });
    place = out && changed.find((slot) => slot.r === out.r);
  }
  return { before: old, moves, homeless: moves.at(-1)?.out };
}

const itemOf = (bits, nameOf) => (slot) =>
  slot && { text: hex(slot.f, bits), key: slot.f, name: nameOf(slot), title: nameOf(slot), other: slot.o };

/** A chain with texts for its slots. */
function withItems({ before, moves, homeless }, item) {
  return {
    before: new Map([...before].map(([n, slot]) => [n, item(slot)])), homeless: item(homeless),
    moves: moves.map(({ to, hand, out }) => ({ to, hand: item(hand), out: item(out) })),
  };
}

/** The chain of each insert into Coua's filter, until it refuses one. */
function couaChains() {
  const filter = new CuckooFilter(FULL);
  const names = new Map();
  const item = itemOf(filter.table().segments[0].fingerprintBits, ({ r }) => names.get(r));
  const chains = [];
  try {
    for (let n = 0; n < TRIED; n += 1) {
      const before = filter.table();
      filter.insert(keyOf(n));
      const { primary, alternate, representative } = filter.locate(keyOf(n));
      if (!names.has(representative)) names.set(representative, keyOf(n));
      chains.push({ ...withItems(chainBetween(before, filter.table()), item), buckets: [primary, alternate] });
    }
  } catch {
    // Full: a refused insert has changed nothing.
  }
  return { chains, has: (key) => filter.has(key), bytes: (SLOTS * filter.describe().slotBits) / 8 };
}

/** The same keys in a textbook filter. */
function textbookChains() {
  const filter = new TextbookFilter(SLOTS / BUCKET_SLOTS);
  const item = itemOf(TEXTBOOK_BITS, ({ word }) => word);
  const chains = Array.from({ length: TRIED }, (_, n) => {
    const before = new Map([...filter.table.flat().entries()].filter(([, slot]) => slot));
    const { first, second } = filter.place(keyOf(n));
    return { ...withItems({ before, ...filter.insert(keyOf(n)) }, item), buckets: [first, second] };
  });
  return { chains, has: (key) => filter.has(key) };
}

export function evict(root, save) {
  const filters = { coua: couaChains(), textbook: textbookChains() };
  const state = stateOf("evict", { items: 0, step: 0, filter: "coua" });
  if (!Object.hasOwn(filters, state.filter)) state.filter = "coua";
  const chains = () => filters[state.filter].chains;
  const nextLong = (after) => chains().findIndex((chain, n) => n >= after && kicksOf(chain) >= LONG) + 1;
  state.items = within(state.items || nextLong(0), 1, TRIED);

  function textOf(chain, step) {
    const { before, moves, homeless, buckets } = chain;
    const [last, next] = [moves[step - 1], moves[step]];
    const hand = next?.hand ?? homeless ?? last.hand;
    const values = {
      n: state.items, load: percent((before.size + (homeless ? 0 : 1)) / SLOTS), hand: hand.text, name: hand.name, kicks: kicksOf(chain),
      a: buckets[0], b: buckets[1], taker: last?.hand.text, at: last && bucketOf(last.to), to: next && bucketOf(next.to),
    };
    if (!last) return t(next.out ? "evictBothFull" : "evictFree", values);
    if (next) return t(next.out || state.filter === "textbook" ? "evictKick" : "evictSeen", values);
    if (!homeless) return t("evictPlaced", values);
    return t(state.filter === "textbook" ? "evictGone" : "evictOverflow", values);
  }

  /** The buckets where the hand may go, and those at which Coua looks before it kicks. */
  function headingOf({ moves, buckets }, shown, step) {
    const next = moves[step] && bucketOf(moves[step].to);
    const to = step ? [next] : buckets;
    const isLooking = state.filter === "coua" && moves[step]?.out;
    const looked = isLooking ? [0, 1, 2, 3].map((position) => shown.get(next * BUCKET_SLOTS + position)?.other) : [];
    return (n) => ({ text: String(n), kind: to.includes(n) ? "alternate" : looked.includes(n) ? "looked" : "" });
  }

  function frames() {
    const chain = chains()[within(state.items, 1, chains().length) - 1];
    return kickFrames(chain, (step) => textOf(chain, step), (label, shown, step) => [bucketTable({
      buckets: SLOTS / BUCKET_SLOTS, label, heading: headingOf(chain, shown, step),
      cell: (bucket, position) => kickedSlot(chain, shown, step, bucket * BUCKET_SLOTS + position) ?? { link: "free" },
    })]);
  }

  const story = steps(state, frames, save);
  const use = (changes) => {
    Object.assign(state, { step: 0 }, changes);
    state.items = within(state.items, 1, chains().length);
    items.show(state.items);
    story.show();
  };
  const items = slider("evictItems", { min: 1, max: TRIED, value: state.items, oninput: (n) => use({ items: n }) });
  const pace = slider("evictSpeed", { min: 0, max: 3, value: 1, text: (n) => `× ${2 ** n / 2}`, oninput: (n) => (speed.ms = 1800 / 2 ** n) });
  const kind = el("select", { onchange: () => use({ filter: kind.value }) }, ...[["coua", "Coua"], ["textbook", t("evictTextbook")]].map(([value, name]) =>
    el("option", { value, selected: value === state.filter }, name)));
  const curve = el("div", { class: "figure" });
  root.append(paragraph("evict1"), el("div", { class: "controls" }, field("evictFilter", kind), items.node,
    button("evictNextLong", () => use({ items: nextLong(state.items) || nextLong(0) })), pace.node),
    ...story.nodes, el("h3", {}, t("evictChart")), curve, paragraph("evict2"), ...comparison(filters));
  story.show();
  drawCurve(curve);
}

let measured;

/** Items that each insert moved, against the load. */
async function measureChains() {
  const coua = new CuckooFilter(LARGE);
  const points = { coua: [], textbook: [] };
  let before = coua.table();
  const slots = before.segmentSlots;
  const textbook = new TextbookFilter(slots / BUCKET_SLOTS);
  for (let n = 0; n <= slots * 0.99; n += 1) {
    coua.insert(`key-${n}`);
    const after = coua.table();
    points.coua.push([n / slots, kicksOf(chainBetween(before, after))]);
    points.textbook.push([n / slots, kicksOf(textbook.insert(`key-${n}`))]);
    before = after;
    if (n % 16 === 0) await pause();
  }
  return points;
}

async function drawCurve(curve) {
  measured ??= measureChains();
  const { coua, textbook } = await measured;
  const average = (all, from, to) => {
    const found = all.filter(([load]) => load >= from && load < to).map(([, moves]) => moves);
    return number(found.reduce((sum, moves) => sum + moves, 0) / found.length, 1);
  };
  const text = t("evictChartText", { coua: average(coua, 0.9, 0.95), textbook: average(textbook, 0.9, 0.95) });
  // A logarithm has no zero: below 1 is 0.
  const y = (points) => points.map(([load, moves]) => [load, Math.max(0.5, moves)]);
  curve.replaceChildren(chart({
    label: text,
    x: { name: t("load"), min: 0, max: 1, ticks: [0, 0.25, 0.5, 0.75, 1], text: percent },
    y: { name: t("kicks"), min: 0.5, max: 500, log: true, ticks: [0.5, 1, 10, 100, 500], text: (v) => String(Math.floor(v)) },
    series: [
      { kind: "orange", points: y(textbook), dots: 2.5 },
      { kind: "blue", points: y(coua), dots: 2.5 },
    ],
  }), el("p", { class: "small" }, text));
}

/** What became of the keys in both filters. */
function comparison({ coua, textbook }) {
  const accepted = ({ chains }, isIn) => chains.map((_, n) => keyOf(n)).filter((_, n) => isIn(chains[n]));
  const [stored, claimed] = [accepted(coua, () => true), accepted(textbook, ({ homeless }) => !homeless)];
  checkAll(stored.map(coua.has), () => true);
  const lost = claimed.filter((key) => !textbook.has(key));
  const entries = coua.chains.filter(({ homeless }) => homeless).length;
  return [el("h3", {}, t("evictFill", { n: TRIED, slots: SLOTS })),
    el("p", { class: "bad" }, ...rich(t("evictLost", { claimed: claimed.length, refused: TRIED - claimed.length, lost: lost.length, names: listed(lost) }))),
    el("p", {}, ...rich(t("evictStored", { stored: stored.length, refused: TRIED - stored.length }))),
    el("p", {}, t("evictPrice", { entries, entry: ENTRY_BYTES, bytes: entries * ENTRY_BYTES, table: coua.bytes }))];
}

// Part 8: a look into a filter.

import { CuckooFilter, locateIn, tablesIn } from "./coua.js";
import { BUCKET_SLOTS, stateOf } from "./state.js";
import { bucketTable, button, el, field, hex, live, number, paragraph, percent, segmentBars, size, t } from "./ui.js";

const MOST_BARS = 64;

/** A filter with an item that has nine copies. */
function sample() {
  const filter = new CuckooFilter({ capacity: 100_000 });
  filter.addMany(Array.from({ length: 90_000 }, (_, n) => `item-${n}`));
  for (let n = 0; n < 9; n += 1) filter.insert("cuckoo");
  const bytes = filter.save();
  return { name: "sample", bytes, answers: [] };
}

/** What `coua explore FILTER` put into the page: the filter, with answers for keys. */
function excerpt() {
  const found = JSON.parse(document.getElementById("excerpt").textContent);
  return found && { ...found, bytes: Uint8Array.from(atob(found.bytes), (letter) => letter.charCodeAt(0)) };
}

/** What is looked into stays the same when the language changes. */
let source;

export function look(root, save) {
  const state = stateOf("look", { key: "cuckoo", table: -1 });
  const status = live();
  const shown = el("div", { class: "look" });

  function show() {
    const tables = tablesIn(source.bytes);
    status.textContent = t("lookOpened", { name: source.name, bytes: size(source.bytes.length) });
    shown.replaceChildren(...filterParts({ ...source, tables, state, save }));
  }

  const open = button("lookSample", () => {
    source = sample();
    show();
  });
  root.append(paragraph("look1", { command: "`coua explore FILTER`" }), el("div", { class: "controls" }, open), status, shown);
  source ??= excerpt();
  if (source) show();
}

const row = (name, text) => [el("dt", {}, t(name)), el("dd", {}, text)];

function filterParts(context) {
  const { tables, state, save } = context;
  const details = el("div");
  const select = el("select", { onchange: () => {
    state.table = Number(select.value);
    show();
  } });
  const newest = tables.length - 1;
  const chosen = tables[state.table] ? state.table : newest;
  tables.forEach(({ generation, length }, n) => {
    const name = generation === null ? t("lookTemplate") : `${generation}: ${number(length)}`;
    select.append(el("option", { value: n, selected: n === chosen }, name));
  });

  function show() {
    details.replaceChildren(...tableParts(context, Number(select.value)));
    save();
  }
  show();
  return newest > 0 ? [el("div", { class: "controls" }, field("lookGeneration", select)), details] : [details];
}

function tableRows({ length, falsePositiveRate, segmentSlots, segments, overflowEntries, extra, withoutSlot }) {
  const used = segments.reduce((sum, segment) => sum + segment.occupied, 0);
  // With the choice bit.
  const widths = [...new Set(segments.map((segment) => segment.fingerprintBits + 1))].sort((a, b) => b - a);
  return [
    row("lookItems", number(length)),
    row("lookRate", percent(falsePositiveRate)),
    row("lookSegments", t("lookSegmentsValue", { n: number(segments.length), slots: number(segmentSlots) })),
    row("lookSlotBits", widths.join(" / ")),
    row("lookLoad", percent(used / (segments.length * segmentSlots))),
    row("lookOverflow", t("lookOverflowValue", { entries: number(overflowEntries), extra: number(extra), without: number(withoutSlot) })),
  ].flat();
}

function tableParts(context, n) {
  const table = context.tables[n];
  const bars = segmentBars(t("lookMap"), table.segments.slice(0, MOST_BARS), table.segmentSlots);
  return [el("dl", {}, ...tableRows(table)), el("h3", {}, t("lookMap")), bars, el("h3", {}, t("lookKey")), ...keyParts(context, n)];
}

/** The answers for keys; and any key can be looked up, unless that needs a secret key. */
function keyParts({ bytes, tables, state, save, answers }, table) {
  const input = el("input", { type: "text", value: state.key, autocomplete: "off", onkeydown: ({ key }) => key === "Enter" && test() });
  const result = el("div", { role: "status" });
  const { isKeyed } = tables[table];

  function test() {
    state.key = input.value;
    save();
    result.replaceChildren(...keyResult(locateIn(bytes, state.key, table), state.key));
  }

  const ask = (key) => {
    input.value = key;
    test();
  };
  const list = answers.map(([key, copies]) => el("li", {},
    isKeyed ? `“${key}”` : el("button", { type: "button", onclick: () => ask(key) }, key), ` ${t("lookCopies", { copies: number(copies) })}`));
  const answered = el("ul", { class: "answers" }, ...list);
  if (isKeyed) return [answered, paragraph("lookKeyed")];
  return [answered, el("div", { class: "controls" }, field("twoKey", input), button("lookTest", test)), result];
}

function keyResult({ hash, segment, primary, alternate, fingerprint, fingerprintBits, representative, slots, overflowed }, key) {
  const copies = slots.filter((slot) => slot.r === representative).length + overflowed;
  const numbers = primary === alternate ? [primary] : [primary, alternate];
  const place = { key, hash, segment, primary: number(primary), alternate: number(alternate), fingerprint: hex(fingerprint, fingerprintBits) };
  const texts = [t("lookFoundIn", place), copies ? t("lookPresent", { copies: number(copies) }) : t("lookAbsent")];
  const view = bucketTable({
    buckets: numbers.length, label: texts.join(" "),
    heading: (n) => ({ text: t("bucket", { n: number(numbers[n]) }), kind: n ? "alternate" : "primary" }),
    cell: (n, position) => {
      const slot = slots.find((slot) => slot.n === numbers[n] * BUCKET_SLOTS + position);
      if (!slot) return {};
      const isIt = slot.r === representative;
      return { text: `${hex(slot.f, fingerprintBits)}·${slot.c}${isIt ? " ✓" : ""}`, kind: isIt ? "new" : "used", key: slot.f };
    },
  });
  view.classList.add("wide");
  return [...texts.map((text) => el("p", {}, text)), view];
}

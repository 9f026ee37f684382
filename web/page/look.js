// Part 8: a look into the file of a filter.

import { CuckooFilter, FilterFile } from "./coua.js";
import { BUCKET_SLOTS, stateOf } from "./state.js";
import { bucketTable, button, el, field, hex, live, number, paragraph, percent, segmentBars, size, t } from "./ui.js";

const MOST_BARS = 64;

/** Reads slices of a chosen file. */
const ofBlob = (blob) => ({
  name: blob.name, size: blob.size,
  read: async (offset, length) => new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer()),
});

/** The file that `coua explore FILTER` put into the page, with answers for keys. */
const ofExcerpt = ({ name, bytes, answers }) => ({
  ...ofBlob(new File([Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0))], name)), answers,
});

function sample() {
  const filter = new CuckooFilter({ capacity: 100_000 });
  filter.addMany(Array.from({ length: 90_000 }, (_, n) => `item-${n}`));
  for (let n = 0; n < 9; n += 1) filter.insert("cuckoo");
  return new File([filter.save()], "sample.coua");
}

/** The opened file stays open when the language changes. */
let source;

export function look(root, save) {
  const state = stateOf("look", { key: "cuckoo", table: -1 });
  const status = live();
  const shown = el("div", { class: "look" });
  const input = el("input", { type: "file", accept: ".coua" });

  async function open(from) {
    source = from;
    status.textContent = t("lookOpening");
    status.classList.remove("bad");
    let read = 0;
    const begin = performance.now();
    const file = new FilterFile(from.size, async (offset, length) => {
      read += length;
      return from.read(offset, length);
    });
    try {
      const found = await file.open();
      const ms = number(performance.now() - begin);
      status.textContent = t("lookOpened", { name: from.name, bytes: size(from.size), ms, read: size(read) });
      shown.replaceChildren(...filterParts({ file, found, state, save, answers: from.answers }));
    } catch (error) {
      status.textContent = t("lookFailed", { name: from.name, message: error.message });
      status.classList.add("bad");
      shown.replaceChildren();
    }
  }

  input.addEventListener("change", () => input.files[0] && open(ofBlob(input.files[0])));
  root.append(paragraph("look1", { command: "`coua`" }),
    el("div", { class: "controls" }, button("lookSample", () => open(ofBlob(sample()))), field("lookFile", input)), status, shown);
  const excerpt = JSON.parse(document.getElementById("excerpt").textContent);
  if (!source && excerpt) source = ofExcerpt(excerpt);
  if (source) open(source);
}

const row = (name, text) => [el("dt", {}, t(name)), el("dd", {}, text)];

function filterParts(context) {
  const { file, found, state, save } = context;
  const details = el("div");
  const first = found.tables.length - 1;
  const inRange = state.table >= 0 && state.table <= first;
  const select = el("select", { onchange: () => {
    state.table = Number(select.value);
    show();
  } });
  found.tables.forEach(({ generation, table }, n) => {
    const name = generation === undefined ? t("lookTemplate") : `${generation}: ${number(table.parameters.length)}`;
    select.append(el("option", { value: n, selected: n === (inRange ? state.table : first) }, name));
  });

  function show() {
    const table = Number(select.value);
    details.replaceChildren(...tableParts({ ...context, table }));
    save();
  }
  show();
  const about = el("dl");
  showLog(about, file);
  const chooser = found.tables.length > 1 ? el("div", { class: "controls" }, field("lookGeneration", select)) : undefined;
  return [about, chooser, details].filter(Boolean);
}

/** The log after the snapshot. It may be long: it is read while the rest is shown. */
async function showLog(about, file) {
  try {
    const { transactions, inserted, removed, bytes } = await file.log();
    about.append(...row("lookLog", bytes ? t("lookLogValue", {
      transactions: number(transactions), inserted: number(inserted), removed: number(removed), bytes: size(bytes),
    }) : t("lookLogNone")));
  } catch (error) {
    about.append(...row("lookLog", error.message));
  }
}

function tableRows({ parameters: { length, stored, hashBits, segmentSlots }, segments, overflow, overflowEntries }) {
  const used = segments.reduce((sum, segment) => sum + segment.occupied, 0);
  const widths = [...new Set(segments.map((segment) => segment.slotBits))].sort((a, b) => b - a);
  const sum = (field) => overflow.reduce((all, entry) => all + entry[field], 0);
  return [
    row("lookItems", number(length)),
    row("lookRate", percent(Math.min(1, stored / 2 ** hashBits))),
    row("lookSegments", t("lookSegmentsValue", { n: number(segments.length), slots: number(segmentSlots) })),
    row("lookSlotBits", widths.join(" / ")),
    row("lookLoad", percent(used / (segments.length * segmentSlots))),
    row("lookOverflow", t("lookOverflowValue", {
      entries: number(overflowEntries), extra: number(sum("extra")), without: number(sum("withoutSlot")),
    })),
  ].flat();
}

function tableParts(context) {
  const { table } = context.found.tables[context.table];
  const bars = segmentBars(t("lookMap"), table.segments.slice(0, MOST_BARS), table.parameters.segmentSlots);
  return [el("dl", {}, ...tableRows(table)), el("h3", {}, t("lookMap")), bars, ...keyParts(context)];
}

function keyParts({ file, found, table, state, save, answers = [] }) {
  const isKeyed = found.tables[table].table.parameters.seed === undefined;
  const secretInput = el("input", { type: "text", autocomplete: "off", maxlength: 32 });
  const input = el("input", { type: "text", value: state.key, autocomplete: "off" });
  const result = el("div", { role: "status" });

  async function test() {
    state.key = input.value;
    save();
    result.replaceChildren();
    try {
      if (isKeyed) file.setKey(Uint8Array.from(secretInput.value.match(/[0-9a-f]{2}/gi) ?? [], (pair) => parseInt(pair, 16)));
      result.replaceChildren(...(await keyResult(file, found, table, state.key)));
    } catch (error) {
      result.replaceChildren(el("p", { class: "bad" }, error.message));
    }
  }
  input.addEventListener("keydown", (event) => event.key === "Enter" && test());
  const secretField = isKeyed ? field("lookSecretKey", secretInput) : undefined;
  const asked = answers.map(([key, copies]) => el("li", {}, el("button", { type: "button", onclick: () => {
    input.value = key;
    test();
  } }, key), ` ${t("lookCopies", { copies: number(copies) })}`));
  const list = asked.length ? [el("ul", { class: "answers" }, ...asked)] : [];
  return [el("h3", {}, t("lookKey")), ...list,
    el("div", { class: "controls" }, secretField, field("twoKey", input), button("lookTest", test)), result];
}

/** The changes of a key in the log, or why the log cannot be read. */
async function logTexts(file, table, key, copies) {
  try {
    const { inserted, removed } = await file.logged(table, key);
    return inserted || removed ? [t("lookInLog", { inserted, removed, now: copies + inserted - removed })] : [];
  } catch (error) {
    return [t("lookFailed", { name: t("lookLog"), message: error.message })];
  }
}

async function keyResult(file, found, table, key) {
  const { located, extra, withoutSlot } = await file.locate(table, key);
  const { segment, primary, alternate, representative } = located;
  const slots = await file.segment(table, segment, [primary, alternate]);
  const matches = slots.filter((slot) => slot.r === representative).length;
  const copies = matches + extra + withoutSlot;
  const texts = [t("lookFoundIn", { key, ...located, primary: number(primary), alternate: number(alternate), fingerprint: hex(located.fingerprint, located.fingerprintBits) }), copies ? t("lookPresent", { copies: number(copies) }) : t("lookAbsent")];
  texts.push(...(await logTexts(file, table, key, copies)));
  const numbers = primary === alternate ? [primary] : [primary, alternate];
  const at = (n, position) => slots.find((slot) => slot.n === numbers[n] * BUCKET_SLOTS + position);
  const view = bucketTable({
    buckets: numbers.length, label: texts.join(" "),
    heading: (n) => ({ text: t("bucket", { n: number(numbers[n]) }), kind: n ? "alternate" : "primary" }),
    cell: (n, position) => {
      const slot = at(n, position);
      if (!slot) return {};
      const isIt = slot.r === representative;
      return { text: `${hex(slot.f, located.fingerprintBits)}·${slot.c}${isIt ? " ✓" : ""}`, kind: isIt ? "new" : "used", key: slot.f };
    },
  });
  view.classList.add("wide");
  return [...texts.map((text) => el("p", {}, text)), view];
}

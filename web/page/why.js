// Part 1: a set, a Bloom filter and a cuckoo filter with the same words.

import { CuckooFilter } from "./coua.js";
import { BIRDS, check, stateOf } from "./state.js";
import { TextbookBloom } from "./textbook.js";
import { button, el, field, hex, live, number, paragraph, slotCell, t } from "./ui.js";

const FIRST = BIRDS.slice(0, 8).join(" ");
const BLOOM_BITS = 128;
const BLOOM_HASHES = 5;
const CUCKOO = { capacity: 16, rate: 0.03, whenFull: "refuse" };

/** The memory of a set of strings: a table of slots for 8/7 of them, rounded up to a power of two, and the texts. */
function setBytes(all) {
  const slots = 2 ** Math.ceil(Math.log2(Math.max(4, (all.size * 8) / 7)));
  return slots * 25 + [...all].reduce((sum, word) => sum + word.length + 16, 0);
}

export function why(root, save) {
  const state = stateOf("why", { words: FIRST, gone: "", asked: "kestrel" });
  const split = (text) => text.split(" ").filter(Boolean);
  const input = el("input", { type: "text", value: state.asked, autocomplete: "off", maxlength: 40 });
  const figure = el("div", { class: "columns" });
  const status = live();
  const word = () => input.value.trim().replace(/\s+/g, "-");

  /** All three, built from the words of the state. A removed word stays in the Bloom filter. */
  function made() {
    const bloom = new TextbookBloom(BLOOM_BITS, BLOOM_HASHES);
    const cuckoo = new CuckooFilter(CUCKOO);
    const set = new Set();
    split(state.gone).forEach((gone) => bloom.add(gone));
    for (const each of split(state.words)) {
      bloom.add(each);
      // Includes a word that looks like another one.
      cuckoo.insert(each);
      set.add(each);
    }
    return { bloom, cuckoo, set };
  }

  function answers({ bloom, cuckoo, set }, asked) {
    const truth = set.has(asked);
    return { set: truth, bloom: check(bloom.has(asked), truth), cuckoo: check(cuckoo.has(asked), truth), truth };
  }

  function column(title, memory, grid, answer, truth) {
    const says = answer ? t("yes") : t("no");
    const kind = answer === truth ? (answer ? "hit" : "miss") : "bad";
    const text = answer === truth ? says : `${says}: ${t("wrong")}`;
    return el("div", { class: "column" }, el("h3", {}, title), el("p", { class: "small" }, memory), grid,
      el("p", { class: `answer ${kind}` }, `${state.asked}: ${text}`));
  }

  function bits(cells) {
    const label = `${t("whyBloom")}: ${cells.filter(Boolean).length} / ${BLOOM_BITS}`;
    return el("div", { class: "bits", role: "img", "aria-label": label }, ...cells.map((on) => el("i", { class: on ? "on" : "" })));
  }

  function slots(cuckoo) {
    const { parameters, segments } = cuckoo.table();
    const used = new Map((segments[0].slots ?? []).map((slot) => [slot.n, slot.f]));
    const label = `${t("whyCuckoo")}: ${used.size} / ${parameters.segmentSlots}`;
    const cells = Array.from({ length: parameters.segmentSlots }, (_, n) =>
      slotCell(used.has(n) ? { text: hex(used.get(n), segments[0].fingerprintBits), kind: "used", key: used.get(n) } : { text: "", kind: "" }));
    return el("div", { class: "grid", role: "img", "aria-label": label }, ...cells);
  }

  function show(message = "") {
    const all = made();
    const { set, bloom, cuckoo, truth } = answers(all, state.asked);
    const { slots: slotCount, slotBits } = all.cuckoo.describe();
    const list = el("div", { class: "list" }, [...all.set].join(", "));
    const kept = t("whyMemory", { n: number(setBytes(all.set)), words: all.set.size });
    const room = (bytes) => t("whyRoom", { n: bytes, words: CUCKOO.capacity });
    figure.replaceChildren(
      column(t("whySet"), kept, list, set, truth),
      column(t("whyBloom"), room(BLOOM_BITS / 8), bits(all.bloom.bits), bloom, truth),
      column(t("whyCuckoo"), room((slotCount * slotBits) / 8), slots(all.cuckoo), cuckoo, truth),
    );
    status.textContent = message;
    save();
  }

  function change(how) {
    state.asked = word() || state.asked;
    show(how(state.asked) ?? "");
  }

  function add(added) {
    const { cuckoo, set } = made();
    if (set.has(added)) return t("whyWasThere");
    try {
      cuckoo.insert(added);
    } catch {
      return t("whyFull", { words: CUCKOO.capacity });
    }
    state.words = `${state.words} ${added}`.trim();
    return t("whyAdded");
  }

  function remove(removed) {
    const all = split(state.words);
    if (!all.includes(removed)) return "";
    state.words = all.filter((each) => each !== removed).join(" ");
    state.gone = `${state.gone} ${removed}`.trim();
    return `${t("whySet")}, ${t("whyCuckoo")}: ${t("whyRemoved")}. ${t("whyBloom")}: ${t("whyCannot")}.`;
  }

  function restart() {
    Object.assign(state, { words: FIRST, gone: "", asked: "kestrel" });
    input.value = state.asked;
    show();
  }

  input.addEventListener("keydown", (event) => event.key === "Enter" && change(() => {}));
  root.append(paragraph("why1"), paragraph("why2"),
    el("div", { class: "controls" }, field("word", input), button("add", () => change(add)),
      button("ask", () => change(() => {})), button("remove", () => change(remove)), button("restart", restart)),
    figure, status, paragraph("whyHint"));
  show();
}

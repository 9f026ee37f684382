// Part 1: a set, a Bloom filter and a cuckoo filter with the same words.

import { CuckooFilter } from "./coua.js";
import { BIRDS, check, stateOf, wordsIn } from "./state.js";
import { TextbookBloom } from "./textbook.js";
import { arrows, button, el, field, filterTable, live, number, paragraph, percent, slider, stateSlider, t } from "./ui.js";

const FIRST = 8;
const CUCKOO = { capacity: 26, rate: 0.01, whenFull: "refuse" };
const UNSEEN = Array.from({ length: 5000 }, (_, n) => `unseen-${n}`);
/** Bits of the Bloom filter in a row of its picture. */
const ROW = 16;
const wordsOf = (n) => BIRDS.slice(0, n).join(" ");

/** About the memory of a set of strings: a table that is two thirds full on average, and the texts. */
const setBytes = (all) => all.reduce((sum, word) => sum + (25 * 3) / 2 + word.length + 16, 0);

export function why(root, save) {
  const state = stateOf("why", { words: wordsOf(FIRST), gone: "", asked: "kestrel", bits: 16, hashes: 6 });
  const input = el("input", { type: "text", value: state.asked, autocomplete: "off", maxlength: 40, oninput: () => {
    ask(input.value);
    show();
  } });
  const figure = el("div", { class: "columns" });
  const status = live();

  /** All three, built from the words of the state. A removed word stays in the Bloom filter. */
  function made() {
    const bloom = new TextbookBloom(ROW * state.bits, state.hashes);
    const cuckoo = new CuckooFilter(CUCKOO);
    const all = wordsIn(state.words);
    [...wordsIn(state.gone), ...all].forEach((word) => bloom.add(word));
    // Includes a word that looks like another one.
    all.forEach((word) => cuckoo.insert(word));
    return { bloom, cuckoo, all };
  }

  function column(title, memory, picture, answer, truth) {
    const kind = answer === truth ? (answer ? "hit" : "miss") : "bad";
    const says = answer === truth ? t(answer ? "yes" : "no") : t("wrong");
    return el("div", { class: "column" }, el("h3", {}, title), el("p", { class: "small" }, ...memory), ...picture,
      el("p", { class: `answer ${kind}` }, t("answer", { word: state.asked, says })));
  }

  /** The words, those marked that have set the bits of a false positive. */
  const list = (all, guilty) => el("div", { class: "list" }, ...all.map((word) =>
    el("button", { type: "button", class: `word ${guilty.includes(word) ? "guilty" : ""}`, "data-link": word }, word)));

  /** The bits, darker the more words share them, and lines from the word to its own. */
  function bits(bloom) {
    const mine = bloom.places(state.asked);
    const cells = bloom.words.map((words, n) => el("i", {
      class: `${words.length ? "on" : ""} ${mine.includes(n) ? "mine" : ""}`, style: `--shared:${Math.min(3, words.length)}`,
      title: `${n}: ${words.join(", ")}`, "data-link": words.join(" ") || undefined, "data-slot": n,
    }));
    const label = t("whyBits", { word: state.asked, set: mine.filter((n) => bloom.words[n].length).length, all: mine.length });
    return [el("div", { class: "bloom", role: "img", "aria-label": label },
      el("b", { class: "asked", "data-slot": "word" }, state.asked), el("div", { class: "bits" }, ...cells)), el("p", { class: "small" }, label)];
  }

  function drawLines() {
    const picture = figure.querySelector(".bloom");
    const places = [...new Set(new TextbookBloom(ROW * state.bits, state.hashes).places(state.asked))];
    arrows(picture, places.map((to) => ({ from: "word", to })));
  }

  function show(message = "") {
    const { bloom, cuckoo, all } = made();
    const truth = all.includes(state.asked);
    const says = { bloom: check(bloom.has(state.asked), truth), cuckoo: check(cuckoo.has(state.asked), truth) };
    const guilty = says.bloom && !truth ? bloom.places(state.asked).flatMap((place) => bloom.words[place]) : [];
    const { slots, slotBits, falsePositiveRate } = cuckoo.describe();
    const kept = all.length + wordsIn(state.gone).length;
    const measured = UNSEEN.filter((word) => bloom.has(word)).length / UNSEEN.length;
    figure.replaceChildren(
      column(t("whySet"), [t("whyMemory", { n: number(setBytes(all)) })], [list(all, guilty)], truth, truth),
      column(t("whyBloom"), [t("bytes", { n: number(bloom.words.length / 8) }), t("whyRate", { rate: percent(bloom.rate(kept)) }), t("whyMeasured", { rate: percent(measured) })],
        bits(bloom), says.bloom, truth),
      column(t("whyCuckoo"), [t("whyRoom", { n: number((slots * slotBits) / 8), words: CUCKOO.capacity }), t("whyRate", { rate: percent(falsePositiveRate) })],
        [filterTable(cuckoo.table(), { label: t("whyCuckoo"), place: cuckoo.locate(state.asked) })], says.cuckoo, truth),
    );
    drawLines();
    count.show(all.length);
    status.textContent = message;
    save();
  }

  function ask(word) {
    state.asked = word.trim().replace(/\s+/g, "-") || state.asked;
  }

  function add() {
    ask(input.value);
    const { cuckoo, all } = made();
    if (all.includes(state.asked)) return show(t("whyWasThere"));
    try {
      cuckoo.insert(state.asked);
    } catch {
      return show(t("whyFull", { words: CUCKOO.capacity }));
    }
    state.words = [...all, state.asked].join(" ");
    return show(t("whyAdded"));
  }

  function remove() {
    ask(input.value);
    const all = wordsIn(state.words);
    if (!all.includes(state.asked)) return show(t("whyNotThere"));
    state.words = all.filter((word) => word !== state.asked).join(" ");
    state.gone = `${state.gone} ${state.asked}`.trim();
    return show(t("whyRemoved"));
  }

  /** Searches for a word that the Bloom filter takes for one of its own. */
  function search() {
    const { bloom, all } = made();
    for (let tries = 1; tries < 300_000; tries += 1) {
      const word = `word-${tries}`;
      if (!bloom.has(word) || all.includes(word)) continue;
      input.value = word;
      ask(word);
      return show(t("whyFound", { word, tries: number(tries) }));
    }
    return show(t("whyNotFound"));
  }

  const size = stateSlider("whySize", state, "bits", { min: 1, max: 20, text: (rows) => number(ROW * rows) }, () => show());
  const hashes = stateSlider("whyHashes", state, "hashes", { min: 1, max: 10 }, () => show());
  const count = slider("whyCount", { min: 0, max: CUCKOO.capacity, value: 0, oninput: (n) => {
    Object.assign(state, { words: wordsOf(n), gone: "" });
    show();
  } });
  new ResizeObserver(drawLines).observe(figure);
  root.append(paragraph("why1"), paragraph("why2"),
    el("div", { class: "controls" }, field("word", input), button("add", add), button("remove", remove), button("whySearch", search)),
    el("div", { class: "controls" }, size, hashes, count.node),
    status, figure, paragraph("whyHint"));
  show();
}

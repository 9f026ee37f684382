// Part 1b: cuckoo hashing with whole words in two tables.

import { kickFrames, kickedSlot } from "./kicks.js";
import { stateOf, wordsIn } from "./state.js";
import { TextbookTables } from "./textbook.js";
import { bucketTable, button, el, field, live, paragraph, steps, t } from "./ui.js";

const NESTS = 8;
const NEST_KICKS = 12;
const FIRST_WORDS = "dove finch goose grebe gull";
/** They have the same two places, so that no table of this size can hold them by these functions. */
const ALIKE = ["kite", "magpie", "ouzel"];
const nameOf = (n) => `T${n < NESTS ? 1 : 2}[${n % NESTS}]`;
const wordItem = (word) => word && { text: word, key: [...word].reduce((sum, letter) => (31 * sum + letter.codePointAt(0)) % 360, 0) };

/** The tables before the last of the words, and the chain of its insert. */
function lastInsert(words) {
  const tables = new TextbookTables(NESTS, NEST_KICKS);
  words.slice(0, -1).forEach((word, n) => tables.insert(word).homeless && tables.rehash(words.slice(0, n + 1)));
  const slots = () => new Map(tables.tables.flat().map((word, n) => [n, wordItem(word)]));
  const before = slots();
  const { moves: taken, homeless } = words.length ? tables.insert(words.at(-1)) : { moves: [] };
  const moves = taken.map(({ table, slot, hand, out }) => ({ to: table * NESTS + slot, hand: wordItem(hand), out: wordItem(out) }));
  if (homeless) tables.rehash(words);
  return { before, moves, homeless: wordItem(homeless || undefined), rehashed: slots() };
}

export function nests(root, save) {
  const state = stateOf("nests", { words: FIRST_WORDS, step: 0 });
  const input = el("input", { type: "text", autocomplete: "off", maxlength: 10, onkeydown: ({ key }) => key === "Enter" && add() });
  const status = live();

  function textOf({ moves, homeless }, step) {
    if (moves.length === 0) return t("nestsEmpty");
    const [last, next] = [moves[step - 1], moves[step]];
    const values = {
      hand: (next ?? last).hand.text, to: nameOf((next ?? last).to), out: last?.out?.text, at: last && nameOf(last.to),
      kicks: moves.length - 1, taker: last?.hand.text, most: NEST_KICKS,
    };
    if (!last) return t("nestsFirst", values);
    if (next) return t("nestsKick", values);
    return homeless ? t("nestsLoop", { ...values, hand: homeless.text }) : t("nestsFree", values);
  }

  const tables = (chain) => (label, shown, step) => [0, NESTS].map((first) => bucketTable({
    buckets: NESTS, slots: 1, first, label: `${label} ${nameOf(first)}`,
    heading: (n) => ({ text: nameOf(first + n), kind: chain.moves[step]?.to === first + n ? "alternate" : "" }),
    cell: (n) => kickedSlot(chain, shown, step, first + n),
  }));

  function frames() {
    const chain = lastInsert(wordsIn(state.words));
    const all = kickFrames(chain, (step) => textOf(chain, step), tables(chain));
    if (chain.homeless) all.push({ text: t("nestsRehash"), draw: (label) => el("div", { class: "kicks" }, ...tables({ moves: [] })(label, chain.rehashed, 0)) });
    return all;
  }

  const story = steps(state, frames, save);
  const use = (words) => {
    Object.assign(state, { words: words.join(" "), step: 0 });
    status.textContent = "";
    story.show();
  };

  function add() {
    const word = input.value.trim().replace(/\s+/g, "-");
    const words = wordsIn(state.words);
    if (!word) return;
    if (words.includes(word)) status.textContent = t("whyWasThere");
    else if (words.length === NESTS) status.textContent = t("nestsFull", { most: NESTS });
    else use([...words, word]);
  }

  root.append(paragraph("nests1"), paragraph("nests2"), el("div", { class: "controls" }, field("word", input), button("add", add),
    button("nestsThree", () => use(ALIKE)), button("nestsClear", () => use([]))),
    status, ...story.nodes, paragraph("nestsBridge"));
  story.show();
}

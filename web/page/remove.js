// Part 5: removing an item that was never inserted, and the ninth copy.

import { CuckooFilter } from "./coua.js";
import { strangerIn, strangerTable } from "./positives.js";
import { BUCKET_SLOTS, SMALL, check, stateOf, within } from "./state.js";
import { TEXTBOOK_BITS, TextbookFilter } from "./textbook.js";
import { bucketTable, button, el, fill, hex, paragraph, slotsOf, steps, t, words } from "./ui.js";

const MOST_COPIES = 30;

export function remove(root, save) {
  const state = stateOf("del", { step: 0, copies: 9 });
  state.copies = within(state.copies, 0, MOST_COPIES);
  const story = strangersCase(state, save);
  root.append(paragraph("del1"), ...story.nodes, paragraph("del2"), ...ninthCopy(state, save));
  story.show();
}

/** Removing a stranger empties the slot of another key. */
function strangersCase(state, save) {
  const { filter, stranger, key, place } = strangerIn();
  const start = filter.save();

  function frames() {
    const now = CuckooFilter.load(start);
    return words("delSteps").map((text, step) => {
      const removed = step === 1 && now.delete(stranger);
      const answer = now.has(key);
      const table = now.table();
      const values = { key, stranger, answerKey: t(answer ? "yes" : "no"), removed: t(removed ? "yes" : "no") };
      return { text: fill(text, values), isBad: step === 2, draw: (label) => {
        check(answer, true, step > 0);
        return strangerTable(table, label, { place, key });
      } };
    });
  }

  return steps(state, frames, save);
}

function ninthCopy(state, save) {
  const key = "cuckoo";
  const figure = el("div", { class: "columns" });

  function textbookColumn() {
    const filter = new TextbookFilter(16);
    const { first, second } = filter.place(key);
    let kicks = 0;
    for (let n = 0; n < state.copies; n += 1) {
      const { moves, homeless } = filter.insert(key);
      if (homeless) kicks = moves.length;
    }
    const counted = filter.table[first].concat(filter.table[second]).filter(Boolean).length;
    const text = kicks ? t("delLoop", { kicks, a: first, b: second }) : t("delFine");
    return column(t("evictTextbook"), counted, text, {
      buckets: [first, second], bits: TEXTBOOK_BITS, cell: (bucket, position) => filter.table[bucket][position]?.f, kind: kicks ? "bad" : "used",
    });
  }

  function couaColumn() {
    const filter = new CuckooFilter(SMALL);
    for (let n = 0; n < state.copies; n += 1) filter.insert(key);
    check(filter.has(key), state.copies > 0);
    const { primary, alternate } = filter.locate(key);
    const table = filter.table();
    const used = slotsOf(table);
    const counted = filter.count(key);
    const text = counted > used.size ? t("delOverflow", { slots: used.size, extra: counted - used.size }) : t("delFine");
    return column("Coua", counted, text, {
      buckets: [primary, alternate], bits: table.segments[0].fingerprintBits, cell: (bucket, position) => used.get(bucket * BUCKET_SLOTS + position)?.f, kind: "used",
    });
  }

  function column(title, counted, text, { buckets, bits, cell, kind }) {
    const table = bucketTable({
      buckets: 2, label: `${title}: ${text}`,
      heading: (n) => ({ text: t("bucket", { n: buckets[n] }), kind: n ? "alternate" : "primary" }),
      cell: (n, position) => {
        const stored = cell(buckets[n], position);
        return stored ? { text: hex(stored, bits), kind, key: kind === "bad" ? undefined : stored } : {};
      },
    });
    const copies = t("delCopies", { inserted: state.copies, counted });
    return el("div", { class: "column" }, el("h3", {}, title), table, el("p", {}, copies), el("p", {}, text));
  }

  function show() {
    figure.replaceChildren(textbookColumn(), couaColumn());
    save();
  }

  const change = (by) => () => {
    state.copies = within(state.copies + by, 0, MOST_COPIES);
    show();
  };
  show();
  return [el("div", { class: "controls" }, button("delAddCopy", change(1), { key }), button("delRemoveCopy", change(-1), { key })), figure];
}

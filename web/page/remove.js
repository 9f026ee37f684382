// Part 5: removing an item that was never inserted, and the ninth copy.

import { CuckooFilter } from "./coua.js";
import { strangerIn } from "./positives.js";
import { BUCKET_SLOTS, SMALL, check, stateOf, within } from "./state.js";
import { TEXTBOOK_BITS, TextbookFilter } from "./textbook.js";
import { bucketTable, button, el, fill, hex, live, number, paragraph, rich, stepper, t, words } from "./ui.js";

const DEL_STEPS = 3;
const MOST_COPIES = 30;

export function remove(root, save) {
  const state = stateOf("del", { step: 0, copies: 9 });
  state.step = within(state.step, 0, DEL_STEPS - 1);
  state.copies = within(state.copies, 0, MOST_COPIES);
  root.append(paragraph("del1"), ...strangersCase(state, save), paragraph("del2"), ...ninthCopy(state, save));
}

function strangersCase(state, save) {
  const { filter, stranger, key } = strangerIn();
  const start = filter.save();
  const story = live();

  function show() {
    const now = CuckooFilter.load(start);
    let removed = false;
    if (state.step >= 1) removed = now.delete(stranger);
    const answer = check(now.has(key), true, state.step >= 1);
    const values = {
      key, stranger, answerKey: t(answer ? "yes" : "no"), removed: t(removed ? "yes" : "no"),
    };
    story.replaceChildren(...rich(fill(words("delSteps")[state.step], values)));
    story.classList.toggle("bad", state.step === 2);
    save();
  }

  const steps = stepper(() => DEL_STEPS, () => state.step, (step) => {
    state.step = step;
    show();
  });
  show();
  return [steps.node, story];
}

function ninthCopy(state, save) {
  const key = "cuckoo";
  const figure = el("div", { class: "columns" });

  function textbookColumn() {
    const filter = new TextbookFilter(16);
    const { hash } = new CuckooFilter(SMALL).locate(key);
    const { first, second } = filter.place(hash);
    let kicks = 0;
    for (let n = 0; n < state.copies; n += 1) {
      const outcome = filter.insert(hash);
      if (!outcome.done) kicks = outcome.kicks;
    }
    const counted = filter.table[first].concat(filter.table[second]).filter(Boolean).length;
    const text = kicks ? t("delLoop", { kicks, a: first, b: second }) : t("delFine");
    return column(t("evictTextbook"), counted, text, {
      buckets: [first, second], bits: TEXTBOOK_BITS, cell: (bucket, position) => filter.table[bucket][position], kind: kicks ? "bad" : "used",
    });
  }

  function couaColumn() {
    const filter = new CuckooFilter(SMALL);
    for (let n = 0; n < state.copies; n += 1) filter.insert(key);
    check(filter.has(key), state.copies > 0);
    const { primary, alternate } = filter.locate(key);
    const { segments, overflow } = filter.table();
    const used = new Map((segments[0].slots ?? []).map((slot) => [slot.n, slot.f]));
    const extra = overflow.reduce((sum, entry) => sum + entry.extra, 0);
    const text = extra ? t("delOverflow", { slots: used.size, extra }) : t("delFine");
    return column("Coua", filter.count(key), text, {
      buckets: [primary, alternate], bits: segments[0].fingerprintBits, cell: (bucket, position) => used.get(bucket * BUCKET_SLOTS + position), kind: "used", overflow: extra,
    });
  }

  function column(title, counted, text, { buckets, bits, cell, kind, overflow }) {
    const table = bucketTable({
      buckets: 2, label: `${title}: ${text}`,
      heading: (n) => ({ text: t("bucket", { n: buckets[n] }), kind: n ? "alternate" : "primary" }),
      cell: (n, position) => {
        const stored = cell(buckets[n], position);
        return stored ? { text: hex(stored, bits), kind, key: kind === "bad" ? undefined : stored } : {};
      },
    });
    const row = (name, n) => el("p", { class: "small" }, `${t(name)}: `, el("b", {}, number(n)));
    return el("div", { class: "column" }, el("h3", {}, title), table,
      overflow ? el("p", { class: "overflow" }, `${t("lookOverflow")}: +${overflow}`) : undefined,
      row("delCopies", state.copies), row("delCounted", counted), el("p", {}, text));
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

// Draws the pictures of how-it-works with the code and the style of the page of `coua explore`: node docs/pictures/draw.mjs

import { readFileSync, writeFileSync } from "node:fs";
import { rulerParts } from "../../web/page/growth.js";
import { kickFrames, kickedSlot } from "../../web/page/kicks.js";
import { BIRDS, BUCKET_SLOTS } from "../../web/page/state.js";
import { TEXTBOOK_BITS, TextbookFilter } from "../../web/page/textbook.js";
import { bucketTable, el, hex, page } from "../../web/page/ui.js";

const css = readFileSync(new URL("../../web/page/style.css", import.meta.url), "utf8");
const style = css.match(/^:root \{[^}]*\}|^(\*|small|\.(table|bucket|number|slot|kicks|hand|ruler)\b).*/gm).join("\n") +
  ".picture { display: grid; gap: 8px 32px; align-content: start; background: var(--back); color: var(--front); font: 14px sans-serif; }";
const WIDTH = 900;

/** As much of a document as the page needs to build its tables. */
class Element {
  children = [];
  attributes = "";
  constructor(tag) { this.tag = tag; }
  setAttribute(name, value) { this.attributes += ` ${name}="${value}"`; }
  append(...children) { this.children.push(...children); }
  toString() { return `<${this.tag}${this.attributes}>${this.children.join("")}</${this.tag}>\n`; }
}
globalThis.document = { createElement: (tag) => new Element(tag) };

function write(name, columns, height, ...nodes) {
  const layout = `grid-template-columns: repeat(${columns}, 1fr); height: ${height}px; padding: 8px`;
  const body = el("div", { xmlns: "http://www.w3.org/1999/xhtml", class: "picture", style: layout }, nodes);
  const svg = el("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${WIDTH} ${height}` },
    el("style", {}, style), el("foreignObject", { width: WIDTH, height }, body));
  writeFileSync(new URL(name, import.meta.url), svg.toString());
}

function filterOf(buckets, birds) {
  const filter = new TextbookFilter(buckets);
  birds.forEach((bird) => filter.insert(bird));
  return filter;
}

const itemOf = (slot) => slot && { text: hex(slot.f, TEXTBOOK_BITS), key: slot.f, name: slot.word, kind: "used" };

function buckets() {
  const filter = filterOf(16, BIRDS.slice(0, 36));
  const { first, second } = filter.place("petrel");
  return bucketTable({
    buckets: 16,
    heading: (n) => ({ text: String(n), kind: { [first]: "primary", [second]: "alternate" }[n] }),
    cell: (bucket, position) => {
      const slot = filter.table[bucket][position];
      return slot && { ...itemOf(slot), kind: slot.word === "petrel" ? "new" : "used" };
    },
  });
}

/** The tables of an insert with two kicks. */
function evictions() {
  const filter = filterOf(8, BIRDS.slice(15, 40));
  const before = new Map([...filter.table.flat().entries()].map(([n, slot]) => [n, itemOf(slot)]));
  const moves = filter.insert("skua").moves.map(({ to, hand, out }) => ({ to, hand: itemOf(hand), out: itemOf(out) }));
  const chain = { before, moves };
  return kickFrames(chain, () => "", (label, shown, step) => [bucketTable({
    buckets: 8,
    heading: (n) => ({ text: String(n), kind: Math.floor(moves[step]?.to / BUCKET_SLOTS) === n ? "alternate" : "" }),
    cell: (bucket, position) => kickedSlot(chain, shown, step, bucket * BUCKET_SLOTS + position),
  })]).map(({ draw }) => draw());
}

/** The parts of a hash of 13 bits. */
function hash(depth, primary, fingerprint, fingerprintBits) {
  const place = { hash: "b000000000000000", segment: 0, primary, fingerprint, fingerprintBits };
  return el("div", { class: "ruler" }, rulerParts({ place, segments: [{ depth }], buckets: 8 }));
}

write("buckets.svg", 1, 134, buckets());
for (const suffix of ["", ".zh-CN"]) {
  page.language = suffix ? 1 : 0;
  write(`evictions${suffix}.svg`, 2, 364, ...evictions());
  write(`split${suffix}.svg`, 1, 76, hash(2, 0b110, 0b01101001, 8), hash(3, 0b100, 0b1101001, 7));
}

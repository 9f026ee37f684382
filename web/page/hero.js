// The opening picture: a coua, and a filter that fills while one reads.

import { CuckooFilter } from "./coua.js";
import { BIRDS, BUCKET_SLOTS, SMALL, check } from "./state.js";
import { bucketTable, el, fly, hex, svg, t } from "./ui.js";

const HERO_BIRDS = 40;
const PAUSE_MS = 700;

/** [tag, class, attributes]: tail, leg, body, wing, head with crest, beak, bare skin around the eye, eye. */
const COUA = [
  ["path", "tail", { d: "M62 92 L6 128 Q2 132 8 134 L70 112 Z" }],
  ["path", "leg", { d: "M92 118 L88 142 M88 142 L80 144 M88 142 L96 144 M104 116 L106 141 M106 141 L98 144 M106 141 L114 143" }],
  ["path", "body", { d: "M58 92 Q66 66 100 60 Q134 62 130 90 Q124 120 92 120 Q66 118 58 92 Z" }],
  ["path", "wing", { d: "M62 94 Q80 74 108 82 Q104 108 72 108 Q64 102 62 94 Z" }],
  ["path", "body", { d: "M108 64 Q110 36 132 32 Q156 34 152 56 Q146 76 124 78 Z" }],
  ["path", "crest", { d: "M120 38 Q106 30 102 16 Q116 22 124 30 Q120 18 126 8 Q134 20 138 33 Z" }],
  ["path", "beak", { d: "M150 46 L172 54 Q174 57 170 57 L150 59 Z" }],
  ["ellipse", "skin", { cx: 139, cy: 49, rx: 11, ry: 8 }],
  ["circle", "eye", { cx: 141, cy: 48, r: 4 }],
];

/** The filling continues when the language changes. */
const hero = { filter: undefined, stored: 0, timer: undefined };

export function heroPicture() {
  hero.filter ??= new CuckooFilter(SMALL);
  clearInterval(hero.timer);
  const figure = el("div", { class: "figure" });

  function add() {
    const bird = BIRDS[hero.stored];
    hero.filter.insert(bird);
    check(hero.filter.has(bird), true);
    hero.stored += 1;
  }

  function show() {
    const { parameters, segments } = hero.filter.table();
    const used = new Map((segments[0].slots ?? []).map((slot) => [slot.n, slot.f]));
    const before = new Set([...figure.querySelectorAll(".keyed")].map((node) => node.dataset.slot));
    figure.replaceChildren(bucketTable({
      buckets: parameters.buckets, label: t("heroText", { n: hero.stored }), heading: () => ({ text: "" }),
      cell: (bucket, position) => {
        const f = used.get(bucket * BUCKET_SLOTS + position);
        return f === undefined ? {} : { text: hex(f, segments[0].fingerprintBits), kind: "used", key: f };
      },
    }));
    if (before.size) [...figure.querySelectorAll(".keyed")].filter((node) => !before.has(node.dataset.slot)).forEach((node) => fly(node));
  }

  if (matchMedia("(prefers-reduced-motion: reduce)").matches) while (hero.stored < HERO_BIRDS) add();
  if (hero.stored === 0) add();
  show();
  hero.timer = setInterval(() => {
    if (hero.stored >= HERO_BIRDS) return clearInterval(hero.timer);
    if (document.hidden) return undefined;
    add();
    return show();
  }, PAUSE_MS);
  const bird = svg("svg", { class: "bird", viewBox: "0 0 180 150", "aria-hidden": "true" },
    ...COUA.map(([tag, name, attributes]) => svg(tag, { class: name, ...attributes })));
  return el("div", { class: "hero" }, bird, figure);
}

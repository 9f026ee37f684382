// The building blocks of the page.

import { BUCKET_SLOTS, within } from "./state.js";
import { TEXT } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";

/** 0: English; 1: Chinese. */
export const page = { language: 0 };

export function words(name) {
  return TEXT[name][page.language];
}

/** A text with its values filled in. */
export function fill(text, values = {}) {
  return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

export const t = (name, values) => fill(words(name), values);

const locale = () => (page.language ? "zh-CN" : "en-US");
export const number = (n, digits = 0) => n.toLocaleString(locale(), { maximumFractionDigits: digits });

/** With two significant digits. */
export const percent = (share) => (share > 0 && share < 1e-8 ? "< 0.000001%" : `${Number((100 * share).toPrecision(2))}%`);

export const listed = (names) => names.join(page.language ? "、" : ", ");

/** A fingerprint in hexadecimal digits, with leading zeros. */
export const hex = (fingerprint, bits) => fingerprint.toString(16).padStart(Math.ceil(bits / 4), "0");

export function size(bytes) {
  const units = [t("bytes", { n: "" }).trim(), "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) {
    bytes /= 1024;
    unit += 1;
  }
  return `${number(bytes, unit ? 1 : 0)} ${units[unit]}`;
}

function put(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== undefined && child !== null));
  return node;
}

export const el = (tag, attributes = {}, ...children) =>
  put(document.createElement(tag), attributes, children);

export const svg = (tag, attributes = {}, ...children) =>
  put(document.createElementNS(SVG, tag), attributes, children);

/** A text as nodes: [[name|words]] linked to cells, **stressed**, `code`. */
export function rich(text) {
  const nodes = [];
  let end = 0;
  for (const found of text.matchAll(/\[\[(\w+)\|([^\]]+)\]\]|\*\*([^*]+)\*\*|`([^`]+)`/g)) {
    const [all, name, linked, stressed, code] = found;
    nodes.push(text.slice(end, found.index));
    if (name) nodes.push(el("button", { type: "button", class: "word", "data-link": name }, linked));
    else if (stressed) nodes.push(el("b", {}, stressed));
    else nodes.push(el("code", {}, code));
    end = found.index + all.length;
  }
  nodes.push(text.slice(end));
  return nodes;
}

export const paragraph = (name, values) => el("p", {}, ...rich(t(name, values)));

/** Highlights everything with the same name in a part of the page while one of them is pointed at or focused. */
export function linkCells(part) {
  const mark = (event) => {
    const names = event.target.closest?.("[data-link]")?.dataset.link.split(" ") ?? [];
    const on = event.type === "pointerover" || event.type === "focusin";
    for (const node of part.querySelectorAll("[data-link]")) {
      const is = node.dataset.link.split(" ").some((name) => names.includes(name));
      node.classList.toggle("linked", on && is);
    }
  };
  for (const event of ["pointerover", "pointerout", "focusin", "focusout"]) {
    part.addEventListener(event, mark);
  }
}

export function button(name, onclick, values) {
  return el("button", { type: "button", onclick }, t(name, values));
}

/** A labeled control, and its related elements. */
export function field(name, control, ...beside) {
  control.id ||= `c${(field.last = (field.last ?? 0) + 1)}`;
  return el("span", { class: "field" }, el("label", { for: control.id }, t(name)), control, ...beside);
}

/** A labeled slider; `show` moves it. */
export function slider(name, { min, max, value, text = number, oninput }) {
  const shown = el("output");
  const control = el("input", { type: "range", min, max, oninput: () => {
    show(control.value);
    oninput(Number(control.value));
  } });
  function show(now) {
    control.value = now;
    shown.textContent = text(Number(now));
    control.setAttribute("aria-valuetext", shown.textContent);
  }
  show(value);
  return { node: field(name, control, shown), show };
}

/** A slider for a field of a part's state, which is kept within its limits. */
export function stateSlider(name, state, key, { min, max, text }, changed) {
  state[key] = within(state[key], min, max);
  return slider(name, { min, max, value: state[key], text, oninput: (value) => {
    state[key] = value;
    changed();
  } }).node;
}

/** The pause between two steps of a picture that plays, for all pictures. */
export const speed = { ms: 900 };

/**
 * A picture that changes step by step, forwards and backwards or by itself. `frames()` has for each step of
 * `state.step` a text, and `draw`, which makes its table; `after(table, isNext)` draws what needs its place.
 */
export function steps(state, frames, save) {
  const story = live();
  const figure = el("div", { class: "figure" });
  const place = el("span", { class: "place" });
  let all = [];
  let timer;
  const isLast = () => state.step === all.length - 1;

  function show(step, isNext = false) {
    state.step = within(step, 0, all.length - 1);
    const { text, isBad, draw, after } = all[state.step];
    story.replaceChildren(...rich(text));
    story.classList.toggle("bad", isBad === true);
    figure.replaceChildren(draw(story.textContent));
    after?.(figure.firstChild, isNext);
    place.textContent = t("stepOf", { step: state.step + 1, steps: all.length });
    // Disabling it would take the focus away.
    back.setAttribute("aria-disabled", state.step === 0);
    next.setAttribute("aria-disabled", isLast());
    save();
  }

  function stop() {
    clearTimeout(timer);
    timer = undefined;
    play.textContent = `▶▶ ${t("play")}`;
  }

  function go(step) {
    show(step, step > 0);
    // The language may have changed meanwhile.
    if (isLast() || !figure.isConnected) stop();
    else timer = setTimeout(() => go(state.step + 1), speed.ms);
  }

  function toggle() {
    if (timer !== undefined) return stop();
    play.textContent = `■ ${t("stop")}`;
    return go(isLast() ? 0 : state.step + 1);
  }

  function move(by) {
    stop();
    show(state.step + by, by > 0);
  }

  const control = (text, onclick) => el("button", { type: "button", onclick }, text);
  const [back, play, next] = [control(`◀ ${t("back")}`, () => move(-1)), control("", toggle), control(`${t("next")} ▶`, () => move(1))];
  const controls = el("div", { class: "controls", onkeydown: ({ key }) => {
    if (key === "ArrowRight") move(1);
    if (key === "ArrowLeft") move(-1);
  } }, back, play, next, place);
  new ResizeObserver(() => figure.isConnected && all[state.step]?.after?.(figure.firstChild, false)).observe(figure);
  return { nodes: [controls, story, figure], show: () => {
    stop();
    all = frames();
    show(state.step);
  } };
}

/** A slot. `key` is its content, which has the same color everywhere. The text is above arrows. */
export function slotCell({ text, kind, key }, attributes = {}) {
  const color = key === undefined ? {} : { class: `slot keyed ${kind}`, style: `--hue:${(key * 137) % 360}` };
  return el("span", { class: `slot ${kind}`, ...attributes, ...color }, el("b", {}, text));
}

/** Shows where the content of a node came from: another node, or from above. */
export function fly(node, from) {
  if (!node || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const to = node.getBoundingClientRect();
  const begin = from?.getBoundingClientRect() ?? { left: to.left, top: to.top - to.height };
  const moved = `translate(${begin.left - to.left}px, ${begin.top - to.top}px)`;
  const above = { position: "relative", zIndex: 3 };
  node.animate([{ ...above, transform: moved, opacity: from ? 1 : 0 }, { ...above, transform: "none", opacity: 1 }], { duration: 300, easing: "ease-in-out" });
}

/** Buckets with their slots: `cell(bucket, position)` gives text, class, link, and the key of the color. */
export function bucketTable({ buckets, slots = BUCKET_SLOTS, first = 0, label, cell, heading = (n) => ({ text: String(n) }) }) {
  const columns = [];
  for (let b = 0; b < buckets; b += 1) {
    const head = heading(b);
    const cells = Array.from({ length: slots }, (_, position) => {
      const { text = "", kind = "", link, key, title } = cell(b, position) ?? {};
      return slotCell({ text, kind, key }, { title, "data-link": link, "data-slot": first + b * slots + position });
    });
    const name = el("span", { class: `number ${head.kind ?? ""}`, "data-link": head.link }, head.text);
    columns.push(el("span", { class: "bucket", "data-link": head.link }, name, ...cells));
  }
  return el("div", { class: "table", role: "img", "aria-label": label }, ...columns);
}

/** The slots in use of a filter with one segment, by number. */
export const slotsOf = (table) => new Map(table.slots.map((slot) => [slot.n, slot]));

/** The table of a filter with one segment. The buckets of `place` are framed; `cell` changes slots in use. */
export function filterTable(table, { label, place, cell = () => ({}) }) {
  const used = slotsOf(table);
  return bucketTable({
    buckets: table.buckets, label,
    heading: (n) => {
      const kind = ["primary", "alternate"].find((name) => place?.[name] === n);
      return { text: String(n), kind, link: kind };
    },
    cell: (bucket, position) => {
      const slot = used.get(bucket * BUCKET_SLOTS + position);
      return slot && { text: hex(slot.f, table.segments[0].fingerprintBits), kind: "used", key: slot.f, ...cell(slot) };
    },
  });
}

/** Arrows between slots of tables, which begin and end at their edges so that the contents stay readable. */
export function arrows(table, moves) {
  table.querySelector("svg")?.remove();
  if (moves.length === 0) return;
  const frame = table.getBoundingClientRect();
  // Not shown yet.
  if (frame.width === 0) return;
  const place = (slot) => {
    const { left, top, width, height } = table.querySelector(`[data-slot="${slot}"]`).getBoundingClientRect();
    return { x: left + width / 2 - frame.left, y: top + height / 2 - frame.top, width, height };
  };
  const edge = ({ x, y, width, height }, toX, toY) => {
    const [dx, dy] = [toX - x, toY - y];
    const scale = Math.max((2 * Math.abs(dx)) / width, (2 * Math.abs(dy)) / height, 1);
    return `${x + dx / scale} ${y + dy / scale}`;
  };
  const head = svg("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 5, markerHeight: 5, orient: "auto" },
    svg("path", { d: "M0 0L8 4L0 8z" }));
  const paths = moves.map((move) => {
    const [from, to] = [place(move.from), place(move.to)];
    const bend = Math.min(40, Math.hypot(to.x - from.x, to.y - from.y) / 4);
    const [x, y] = [(from.x + to.x) / 2, (from.y + to.y) / 2 - bend];
    return svg("path", { d: `M${edge(from, x, y)}Q${x} ${y} ${edge(to, x, y)}`, "marker-end": "url(#head)" });
  });
  table.append(svg("svg", { class: "arrows", "aria-hidden": "true", width: frame.width, height: frame.height }, svg("defs", {}, head), ...paths));
}

/** Lines and points. `x` and `y` have name, min, max, log, ticks, text. */
export function chart({ label, x, y, series }) {
  // Narrower on a phone, so that the letters keep their size.
  const [width, height, left, right, top, bottom] = [Math.min(560, Math.max(300, innerWidth - 32)), 276, 64, 28, 30, 52];
  const scale = (axis, from, to) => {
    const f = axis.log ? Math.log10 : (v) => v;
    const [low, high] = [f(axis.min), f(axis.max)];
    return (v) => from + ((f(Math.max(axis.min, Math.min(axis.max, v))) - low) / (high - low)) * (to - from);
  };
  const [px, py] = [scale(x, left, width - right), scale(y, height - bottom, top)];
  const ticks = (axis) => axis.ticks.map((v) => [v, axis.text(v)]);
  const parts = [
    svg("text", { x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, `${x.name} →`),
    svg("text", { x: 4, y: 14 }, `↑ ${y.name}`),
    ...ticks(x).map(([v, text]) => svg("text", { x: px(v), y: height - bottom + 20, "text-anchor": "middle" }, text)),
    ...ticks(y).map(([v, text]) => svg("text", { x: left - 6, y: py(v) + 4, "text-anchor": "end" }, text)),
    ...ticks(y).map(([v]) => svg("path", { class: "grid", d: `M${left} ${py(v)}H${width - right}` })),
  ];
  for (const { name, kind, points, dots } of series) {
    if (dots) parts.push(...points.map(([a, b]) => svg("circle", { class: kind, cx: px(a), cy: py(b), r: dots })));
    else parts.push(svg("path", { class: `line ${kind}`, d: points.map(([a, b], n) => `${n ? "L" : "M"}${px(a)} ${py(b)}`).join("") }));
    // A line that is still short has no room for its name.
    if (name && (dots || px(points.at(-1)?.[0] ?? x.max) > width / 2)) {
      const [[, before], [a, b]] = [points.at(-2) ?? [x.max, y.max], points.at(-1) ?? [x.max, y.max]];
      // The label of a point: above and to the right, if there is room.
      const isRight = dots && px(a) < width * 0.7;
      const isBelow = dots || b < before;
      const [nameX, nameY] = isRight ? [px(a) + 10, py(b) - 6] : [px(a) - 4, py(b) + (isBelow ? 18 : -10)];
      parts.push(svg("text", { class: `name ${kind}`, x: nameX, y: nameY, "text-anchor": isRight ? "start" : "end" }, name));
    }
  }
  return svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...parts);
}

/** A text that a screen reader reads out when it changes. */
export const live = () => el("p", { class: "live", role: "status" });

/** The load of segments, each as wide as its share of all hashes. */
export const segmentBars = (label, segments, slots) => el("div", { class: "segments", role: "img", "aria-label": label }, ...segments.map((segment) => {
  const load = segment.occupied / slots;
  const isSplit = segment.fingerprintBits < segments[0].fingerprintBits;
  return el("span", { class: isSplit ? "split" : "", style: `flex-grow:${2 ** (20 - segment.depth)};--load:${(100 * load).toFixed(0)}%`, title: percent(load) },
    el("i"), el("b", {}, segment.fingerprintBits));
}));

/** Lets the page respond during long work. */
export const pause = () => new Promise((done) => setTimeout(done));

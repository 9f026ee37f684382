// Puts the page together.

import { initialize } from "./coua.js";
import { evict } from "./evict.js";
import { growth } from "./growth.js";
import { look } from "./look.js";
import { nests } from "./nests.js";
import { positives } from "./positives.js";
import { remove } from "./remove.js";
import { sizes } from "./sizes.js";
import { proof, readLink, saveLink } from "./state.js";
import { two } from "./two.js";
import { el, linkCells, number, page, rich, t, words } from "./ui.js";
import { why } from "./why.js";

/** The number, name and content of each part. */
const PARTS = [["1", "why", why], ["1b", "nests", nests], ["2", "two", two], ["3", "evict", evict], ["4", "fp", positives], ["5", "del", remove],
  ["6", "grow", growth], ["7", "size", sizes], ["8", "look", look]];

const save = () => saveLink(page.language);

function showProof() {
  const text = t("proof", {
    asked: number(proof.asked), falsePositives: number(proof.falsePositives), falseNegatives: number(proof.falseNegatives),
  });
  document.getElementById("proof").textContent = proof.made ? text + t("proofMade", { made: proof.made }) : text;
}

function show() {
  document.documentElement.lang = page.language ? "zh-CN" : "en";
  document.title = `${t("title")} · Coua`;
  document.getElementById("skip").textContent = t("skip");
  const language = el("button", { type: "button", id: "language", lang: page.language ? "en" : "zh-CN", onclick: () => {
    page.language = 1 - page.language;
    save();
    readLink();
    show();
    document.getElementById("language").focus();
  } }, t("language"));
  document.querySelector("header div").replaceChildren(language, el("h1", {}, t("title")), el("p", {}, ...rich(t("subtitle"))));
  const links = PARTS.map(([n, name]) => el("li", {}, el("a", { href: `#${name}`, onclick: (event) => {
    // The link in the address stores the state of the page.
    event.preventDefault();
    document.getElementById(name).scrollIntoView();
    document.getElementById(name).focus({ preventScroll: true });
  } }, `${n}. ${t(name)}`)));
  const contents = document.querySelector("nav");
  contents.setAttribute("aria-label", t("contents"));
  contents.replaceChildren(el("ol", {}, ...links));
  const main = document.querySelector("main");
  main.replaceChildren();
  PARTS.forEach(([n, name, part]) => {
    const section = el("section", { id: name, tabindex: -1, "aria-labelledby": `${name}-title` },
      el("h2", { id: `${name}-title` }, `${n}. ${t(name)}`), el("p", { class: "question" }, t(`${name}Question`)));
    main.append(section);
    part(section, save);
    linkCells(section);
  });
  main.append(el("section", { id: "sum", "aria-labelledby": "sum-title" }, el("h2", { id: "sum-title" }, t("sum")),
    el("ol", {}, ...words("sumPoints").map((point) => el("li", {}, ...rich(point))))));
  document.querySelector("footer").textContent = t("footer");
  showProof();
}

proof.show = showProof;
// The page itself has unpacked this script.
await initialize(await globalThis.unpacked("wasm"));
page.language = (readLink().get("lang") ?? navigator.language).startsWith("zh") ? 1 : 0;
show();
// `coua explore FILTER` made this page.
if (document.getElementById("excerpt").textContent !== "null") document.getElementById("look").scrollIntoView();
// Another link was pasted into the address of this page.
addEventListener("hashchange", () => location.reload());
document.body.dataset.ready = "yes";

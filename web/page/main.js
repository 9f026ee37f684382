// Puts the page together.

import { initialize } from "./coua.js";
import { evict } from "./evict.js";
import { growth } from "./growth.js";
import { heroPicture } from "./hero.js";
import { look } from "./look.js";
import { positives } from "./positives.js";
import { remove } from "./remove.js";
import { sizes } from "./sizes.js";
import { proof, readLink, saveLink } from "./state.js";
import { two } from "./two.js";
import { el, linkCells, number, page, rich, t, words } from "./ui.js";
import { why } from "./why.js";

const PARTS = [["why", why], ["two", two], ["evict", evict], ["fp", positives], ["del", remove], ["grow", growth], ["size", sizes], ["look", look]];

const save = () => saveLink(page.language);

function showProof() {
  const text = t("proof", {
    asked: number(proof.asked), falsePositives: number(proof.falsePositives), falseNegatives: number(proof.falseNegatives),
  });
  document.getElementById("proof").textContent = proof.made ? `${text} ${t("proofMade", { made: proof.made })}` : text;
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
  document.querySelector("header").replaceChildren(language, el("h1", {}, t("title")), heroPicture(), el("p", {}, ...rich(t("subtitle"))));
  const links = PARTS.map(([name], n) => el("li", {}, el("a", { href: `#${name}`, onclick: (event) => {
    // The link in the address stores the state of the page.
    event.preventDefault();
    document.getElementById(name).scrollIntoView();
    document.getElementById(name).focus({ preventScroll: true });
  } }, `${n + 1}. ${t(name)}`)));
  const contents = document.querySelector("nav");
  contents.setAttribute("aria-label", t("contents"));
  contents.replaceChildren(el("ol", {}, ...links));
  const main = document.querySelector("main");
  main.replaceChildren();
  PARTS.forEach(([name, part], n) => {
    const section = el("section", { id: name, tabindex: -1, "aria-labelledby": `${name}-title` },
      el("h2", { id: `${name}-title` }, `${n + 1}. ${t(name)}`), el("p", { class: "question" }, t(`${name}Question`)));
    main.append(section);
    part(section, save);
    linkCells(section);
  });
  main.append(el("section", { id: "sum", "aria-labelledby": "sum-title" }, el("h2", { id: "sum-title" }, t("sum")),
    el("ol", {}, ...words("sumPoints").map((point) => el("li", {}, ...rich(point))))));
  document.querySelector("footer p").textContent = t("footer");
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

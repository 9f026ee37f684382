// The page in a real browser: node page.mjs FOLDER COUA. FOLDER has page.html, package/ and filters.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { CuckooFilter } from "coua";

const [folder, coua] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const path = join(folder, "page.html");
const address = pathToFileURL(path).href;
const PARTS = ["why", "nests", "two", "evict", "fp", "del", "grow", "size", "look", "sum"];
/** A page on which nothing may go wrong, and which may ask nothing of anybody but `allowed`. */
async function opened(browser, url, options = {}, allowed = "file:") {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  page.setDefaultTimeout(60_000);
  page.faults = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.faults.push(message.text()));
  page.on("pageerror", (error) => page.faults.push(error.message));
  page.on("request", (request) => {
    const to = request.url();
    if (!to.startsWith(allowed) && !to.startsWith("data:") && !to.startsWith("blob:")) page.faults.push(`request: ${to}`);
  });
  await page.goto(url);
  await page.waitForSelector("body[data-ready]", { state: "attached" });
  return page;
}

async function closed(page) {
  assert.deepEqual(page.faults, []);
  const proof = await page.textContent("#proof");
  await page.close();
  return proof;
}

const textOf = (page, part) => page.textContent(`#${part}`);
const click = (page, part, name) => page.locator(`#${part}`).getByRole("button", { name, exact: true }).first().click();

/** The long work of parts 3 and 6 is done. */
async function throughout(page) {
  await page.waitForFunction(() => document.querySelectorAll("#evict circle").length > 400);
  await page.waitForFunction(() => /(at most|最多) 0\.1%/.test(document.querySelector("#grow").textContent) && document.querySelectorAll("#grow circle").length === 2);
}

/** One page, whose width, language and colors change: what it measures is measured once. */
async function everyLook(browser) {
  const page = await opened(browser, address, { locale: "en-US", reducedMotion: "reduce" });
  await throughout(page);
  await page.locator("#look button").first().click();
  await page.evaluate(axe);
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 });
    for (const language of ["zh", "en"]) {
      await page.locator("#language").click();
      await page.waitForSelector("#look .segments");
      await page.locator("#look .controls button").last().click();
      await page.waitForSelector("#look .table.wide");
      await throughout(page);
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        await inspected(page, `${language}-${colorScheme}-${width}`);
      }
    }
  }
  assert.match(await closed(page), /Wrong “no”: 0\./);
}

/** Takes pictures, and looks for what keeps somebody from using the page. */
async function inspected(page, name) {
  for (const part of PARTS) await page.locator(`#${part}`).screenshot({ path: join(folder, "pictures", `${part}-${name}.png`) });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}: nothing is wider than the screen`);
  const heights = await page.locator("#two .slot, #evict .table .slot").evaluateAll((slots) => slots.map((slot) => slot.clientHeight));
  assert.equal(new Set(heights).size, 1, `${name}: a fingerprint is one line`);
  const text = await page.locator("body").innerText();
  assert.doesNotMatch(text, /[，。；：、！？（“] |[\u4e00-\u9fff] +[\u4e00-\u9fff]|[\u4e00-\u9fff][,;:!?]/, `${name}: Chinese punctuation, without spaces`);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), [], name);
  console.log(`${name}: fine`);
}

/** What lies in the slots of a part, and what is in hand. */
const slotsIn = (page, part) => page.evaluate((part) => {
  const kicks = document.querySelector(`#${part} .kicks`);
  const textOf = (node) => node.querySelector("b").textContent;
  const slots = Object.fromEntries([...kicks.querySelectorAll(".table .slot")].map((node) => [node.dataset.slot, textOf(node)]));
  const [hand, name] = [kicks.querySelector(".hand .slot"), kicks.querySelector(".hand small")];
  return { slots, hand: hand ? textOf(hand) : "", name: name?.textContent, to: kicks.querySelector(".table .new")?.dataset.slot };
}, part);

/**
 * Follows a chain to its end: what is in hand takes a slot, and what was there is in hand. `isPlace(name, slot)`: whether
 * the slot is one of the two places of the item that was in hand. Returns the number of kicks.
 */
async function followed(page, part, isPlace) {
  let kicks = 0;
  let before = await slotsIn(page, part);
  let left;
  while (before.hand) {
    await click(page, part, "Next ▶");
    const now = await slotsIn(page, part);
    assert.equal(now.slots[now.to], before.hand, "what was in hand is in the slot");
    assert.equal(now.hand, before.slots[now.to], "what was in the slot is in hand");
    for (const n of Object.keys(now.slots)) assert.ok(n === now.to || now.slots[n] === before.slots[n], `slot ${n} is as it was`);
    assert.ok(isPlace(before.name ?? before.hand, Number(now.to)), `slot ${now.to} is a place of ${before.hand}`);
    assert.notEqual(left, now.to, "not where it came from");
    kicks += now.hand ? 1 : 0;
    [before, left] = [now, now.to];
  }
  return kicks;
}

async function everyPart(browser) {
  const page = await opened(browser, address, { locale: "en-US" });
  // Names of lines lie within their charts, also while these are drawn.
  await page.evaluate(() => {
    globalThis.outside = [];
    new MutationObserver(() => {
      for (const name of document.querySelectorAll(".chart .name")) {
        if (name.getBBox().x < 0) globalThis.outside.push(name.textContent);
      }
    }).observe(document.body, { childList: true, subtree: true });
  });
  await aSetAndTwoFilters(page);
  await twoTables(page);
  // 2. Steps lead forwards and backwards, and the link keeps them.
  assert.match(await textOf(page, "two"), /Step 1 of 6/);
  for (let step = 1; step < 6; step += 1) await click(page, "two", "Next ▶");
  assert.match(await textOf(page, "two"), /Step 6 of 6.*subtract: (\d+) − (\d+) → (\d+)\..*lead back: \3 \+ \2 → \1\./s);
  assert.equal(await page.locator("#two .slot.new").count(), 1);
  await click(page, "two", "◀ Back");
  assert.match(page.url(), /two\.step=4/);
  await page.locator("#two").getByRole("button", { name: "primary bucket" }).first().hover();
  assert.ok(await page.locator("#two .bucket.linked").count() === 1, "a word is linked to its cells");
  await kicked(page);
  // 4. A stranger that is taken for a bird, in one of its buckets, and measured rates near the law.
  await click(page, "fp", "Find a key that is taken for another");
  assert.match(await textOf(page, "fp"), /was never inserted, but the filter says yes/);
  assert.equal(await page.locator("#fp .bucket:has(> .primary, > .alternate) .slot.match").textContent(), "owl");
  for (const bits of [8, 12, 16]) {
    await page.locator("#fp input[type=range]").fill(String(bits));
    const [, law, measured] = (await textOf(page, "fp")).match(/By the formula: ([\d.]+)%.*strangers, ([\d.]+)%/s);
    assert.ok(Math.abs(Math.log(law / measured)) < 0.8, `${bits} bits: law ${law}, measured ${measured}`);
  }
  // 5. Who removes a stranger empties the slot of a bird; the ninth copy is counted.
  assert.equal(await page.locator("#del .slot.match").textContent(), "owl");
  for (let step = 1; step < 3; step += 1) await click(page, "del", "Next ▶");
  assert.match(await textOf(page, "del"), /no\. No slot in its two buckets has its fingerprint/);
  assert.equal(await page.locator("#del .slot.match").count(), 0);
  assert.match(await textOf(page, "del"), /inserted: 9\. Copies counted: 8.*500 kicks.*inserted: 9\. Copies counted: 9.*4 in slots, 5 counted in the overflow table/s);
  await click(page, "del", "Insert “cuckoo” once more");
  assert.match(await textOf(page, "del"), /4 in slots, 6 counted/);
  // 6. Segments have split, and the rate holds while the chain's climbs.
  await throughout(page);
  await page.locator("#grow input[type=range]").fill("16");
  await page.waitForFunction(() => document.querySelector("#grow").textContent.includes("of 7 filters"));
  // Both cuts move: as many bits more of the segment as less of the fingerprint.
  const ruler = () => page.locator("#grow .ruler b").allTextContents();
  const [prefix, , fingerprint] = await ruler();
  await page.locator("#grow input[type=range]").fill("2");
  const [before, , longer] = await ruler();
  assert.equal(before.length + longer.length, prefix.length + fingerprint.length);
  assert.ok(prefix.startsWith(before) && longer.endsWith(fingerprint) && longer.length > fingerprint.length);
  await page.locator("#grow input[type=range]").fill("16");
  const [, chain, splitting] = (await textOf(page, "grow")).match(/chain ([\d.]+)%.*segments ([\d.]+)%/s);
  assert.ok(chain > 0.3 && splitting <= 0.15, `chain ${chain}, splitting ${splitting}`);
  assert.ok(await page.locator("#grow .segments span").count() >= 32);
  // 7. The numbers of `coua plan`.
  assert.match(await textOf(page, "size"), /163\.3 MiB, 13\.7 bits per item/);
  // 8. A sample: one of nine copies is in a wide slot.
  await click(page, "look", "Open a sample");
  await click(page, "look", "Look it up");
  await page.waitForFunction(() => document.querySelector("#look").textContent.includes("The filter has 9."));
  assert.match(await textOf(page, "look"), /entries: 1; further copies: 8; items without a slot: 0/);
  assert.equal(await page.locator("#look .slot.new").count(), 1);
  assert.deepEqual(await page.evaluate(() => globalThis.outside), []);
  // The language changes in place; the keyboard reaches everything.
  await page.locator("#language").focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("html").getAttribute("lang"), "zh-CN");
  assert.match(page.url(), /lang=zh/);
  assert.match(await page.textContent("#two .place"), /第 5 步/);
  // A link that is pasted into the open page.
  await Promise.all([page.waitForEvent("load"), page.evaluate(() => (location.hash = "lang=zh&two.step=2"))]);
  await page.waitForSelector("body[data-ready]", { state: "attached" });
  assert.match(await page.textContent("#two .place"), /第 3 步/);
  await click(page, "del", "下一步 ▶");
  await click(page, "del", "下一步 ▶");
  const proof = await closed(page);
  assert.match(proof, /漏报 \d+ 次。其中 \d+ 次漏报是第 5 节故意演示的/);
  console.log("every part does what it says");
}

/** 1. A set, a Bloom filter and a cuckoo filter. */
async function aSetAndTwoFilters(page) {
  const answers = () => page.locator("#why .answer").allTextContents();
  const set = (n, value) => page.locator("#why input[type=range]").nth(n).fill(String(value));
  // A line leads to each bit of a word.
  assert.equal(await page.locator("#why .bits .mine").count(), await page.locator("#why .arrows > path").count());
  assert.equal(await page.locator("#why .bits .mine.on").count(), 6);
  // All answer while one types.
  await page.locator("#why input[type=text]").fill("kes");
  assert.deepEqual(await answers(), ["kes: no", "kes: no", "kes: no"]);
  await page.locator("#why input[type=text]").fill("kestrel");
  assert.deepEqual(await answers(), ["kestrel: yes", "kestrel: yes", "kestrel: yes"]);
  // A removed word is gone from the cuckoo filter, and not from the Bloom filter.
  await click(page, "why", "Remove");
  assert.deepEqual(await answers(), ["kestrel: no", "kestrel: yes (wrong)", "kestrel: no"]);
  // The words that have set the bits of a false positive.
  await set(0, 4);
  await set(1, 2);
  await set(2, 20);
  const [, computed, measured] = (await textOf(page, "why")).match(/8 bytes; wrong “yes” ([\d.]+)%, measured ([\d.]+)%/);
  assert.ok(Math.abs(computed - measured) < 4, `${computed} computed, ${measured} measured`);
  await click(page, "why", "Find a false positive");
  assert.match((await answers())[1], /^word-\d+: yes \(wrong\)$/);
  const guilty = await page.locator("#why .guilty").allTextContents();
  for (const words of await page.locator("#why .bits .mine").evaluateAll((bits) => bits.map((bit) => bit.dataset.link))) {
    assert.ok(words.split(" ").every((word) => guilty.includes(word)), `${words} of ${guilty}`);
  }
  await page.locator("#why .list button").first().hover();
  assert.ok(await page.locator("#why .bits .linked").count() > 0, "a word is linked to its bits");
  // As many words as it has room for, and no more.
  await set(2, 25);
  for (const [word, says] of [["plover", "Inserted."], ["puffin", "Refused: the cuckoo filter already has its 26 words"]]) {
    await page.locator("#why input[type=text]").fill(word);
    await click(page, "why", "Insert");
    assert.ok((await page.textContent("#why .live")).startsWith(says), says);
  }
  assert.equal(await page.locator("#why .slot.used").count(), 26);
}

/** 1b. Two tables of whole words. */
async function twoTables(page) {
  assert.ok(await followed(page, "nests", () => true) >= 3, "a chain to begin with");
  await click(page, "nests", "Three that cannot live together");
  for (let step = 0; step < 12; step += 1) await click(page, "nests", "Next ▶");
  assert.match(await textOf(page, "nests"), /still has no place: the words kick each other out in a circle/);
  await click(page, "nests", "Next ▶");
  assert.equal(await page.locator("#nests .table .used").count(), 3, "by new hash functions, all have a place");
  // By itself, and quicker.
  await page.locator("#evict input[type=range]").last().fill("3");
  await click(page, "nests", "▶▶ Play");
  await page.waitForFunction(() => document.querySelector("#nests .place").textContent === "Step 14 of 14");
  assert.equal(await page.locator("#nests").getByRole("button", { name: "▶▶ Play" }).count(), 1, "it has stopped");
  await click(page, "nests", "Clear");
  await page.locator("#nests input").fill("owl");
  await click(page, "nests", "Insert");
  assert.equal(await followed(page, "nests", () => true), 0);
}

/** 3. Chains of kicks, in the order in which they happen. */
async function kicked(page) {
  const filter = new CuckooFilter({ capacity: 55, hashBits: 11, whenFull: "refuse" });
  const isPlace = (name, slot) => {
    const { primary, alternate } = filter.locate(name);
    return [primary, alternate].includes(slot >> 2);
  };
  const kicks = await followed(page, "evict", isPlace);
  assert.ok(kicks >= 3 && (await textOf(page, "evict")).includes(`Kicks: ${kicks}.`), `${kicks} kicks`);
  assert.equal(await page.locator("#evict .arrows > path").count(), Math.min(6, kicks));
  // The picture of the documents, docs/explore.png: the last one is in hand.
  await page.locator("#evict").getByRole("button", { name: "Next ▶" }).focus();
  await page.keyboard.press("ArrowLeft");
  await page.evaluate(() => document.activeElement.blur());
  const box = await page.locator("#evict").boundingBox();
  const table = await page.locator("#evict .table").boundingBox();
  await page.evaluate(() => Promise.all(document.getAnimations().map((flight) => flight.finished.catch(() => {}))));
  const clip = { x: box.x - 8, y: box.y + await page.evaluate(() => scrollY) + 8, width: box.width + 16, height: table.y + table.height - box.y };
  await page.screenshot({ path: join(folder, "pictures", "explore.png"), fullPage: true, clip });
  const lost = (await textOf(page, "evict")).match(/But (\d+) of those that it reports as stored are lost: (.*?)\./);
  assert.ok(Number(lost[1]) > 0 && lost[2].split(", ").length === Number(lost[1]));
  assert.match(await textOf(page, "evict"), /Coua stores 81, refuses 19 with an error, and loses none.*17 items are in Coua’s overflow table, at 16 bytes each\. That is 272 bytes/s);
}

/** 3. An item without a slot: in Coua's overflow table, or lost. */
async function outOfRoom(browser) {
  const says = { coua: /It goes to the overflow table/, textbook: /After 500 kicks the filter gives up.*which is lost/ };
  for (const [filter, text] of Object.entries(says)) {
    const page = await opened(browser, `${address}#evict.filter=${filter}&evict.items=81&evict.step=999`, { locale: "en-US" });
    assert.match(await page.textContent("#evict .live"), text);
    assert.notEqual((await slotsIn(page, "evict")).hand, "");
    await closed(page);
  }
  console.log("an item without a slot is not lost");
}

const shows = (page, text) => page.waitForFunction((wanted) => document.querySelector("#look").textContent.includes(wanted), text);

/** The page with a filter in it. */
async function explored(browser) {
  const key = "</script><img src=x onerror=alert(1)>";
  const explore = async (name, ...more) => {
    const made = join(folder, "explored.html");
    execFileSync(coua, ["explore", join(folder, name), "--key", "kestrel", "--key", key, "-o", made, ...more]);
    return opened(browser, pathToFileURL(made).href, { locale: "en-US" });
  };
  const small = await explore("<b>small.coua");
  await shows(small, "100,001");
  assert.match(await small.textContent("#look .live"), /^<b>small.coua: /);
  assert.deepEqual(await small.locator("#look .answers li").allTextContents(), ["kestrel copies in the filter: 1", `${key} copies in the filter: 0`]);
  await click(small, "look", "kestrel");
  await shows(small, "The filter has 1.");
  await small.locator("#look").screenshot({ path: join(folder, "pictures", "explored-small.png") });
  // The sample takes its place.
  await click(small, "look", "Open a sample");
  await shows(small, "90,009");
  assert.equal(await small.locator("#look .answers li").count(), 0);
  await closed(small);
  await aWindow(await explore("window.coua"));
  const keyed = await explore("keyed.coua", "--secret", join(folder, "key"));
  assert.match(await keyed.locator("#look .answers li").first().textContent(), /^“kestrel” copies in the filter: 1$/);
  assert.equal(await keyed.locator("#look input").count(), 0, "no key can be looked up without the secret key");
  await closed(keyed);
  console.log("coua explore shows the filter that it is given");
}

/** A filter that forgets: the newest generation is shown, and others can be chosen. */
async function aWindow(page) {
  const lookUp = async (key) => {
    await page.locator("#look input[type=text]").fill(key);
    await click(page, "look", "Look it up");
  };
  const generations = await page.locator("#look select option").allTextContents();
  assert.match(generations.join(", "), /^template \(empty\), \d+: 300,001$/);
  for (const key of ["1000", "kestrel"]) {
    await lookUp(key);
    await shows(page, `“${key}”`);
    await shows(page, "The filter has 1.");
  }
  await page.locator("#look select").selectOption("0");
  await lookUp("1000");
  await shows(page, "The filter does not have it.");
  await closed(page);
}

/** The npm package in the browser, from a server that knows nothing of it. */
async function packageInBrowser(browser) {
  const types = { js: "text/javascript", wasm: "application/wasm", html: "text/html" };
  const server = createServer((request, answer) => {
    const path = request.url === "/" ? null : join(folder, "package", request.url.slice(1));
    const script = "import { CuckooFilter } from '/index.js'; const f = new CuckooFilter(); f.add('kestrel');" +
      "document.body.dataset.ready = `${f.has('kestrel')} ${f.has('owl')} ${CuckooFilter.load(f.save()).size}`";
    answer.setHeader("Content-Type", types[path?.split(".").pop() ?? "html"]);
    answer.end(path ? readFileSync(path) : `<!doctype html><link rel=icon href=data:,><body><script type=module>${script}</script>`);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${server.address().port}/`;
  const page = await opened(browser, url, {}, url);
  assert.equal(await page.getAttribute("body", "data-ready"), "true false 1");
  assert.deepEqual(page.faults, []);
  server.close();
  console.log("the package works in the browser");
}

function smallAndWhole() {
  const text = readFileSync(path, "utf8");
  // What a chat, a search engine and a browser without scripts show.
  for (const part of ["<title>How a cuckoo filter works", '<meta name="description" content="Have', '<meta property="og:image"', "<noscript><p>", '<link rel="icon" href="data:image/svg+xml,']) {
    assert.ok(text.includes(part), part);
  }
  assert.ok(text.length <= 260_000, `${text.length} bytes`);
  assert.doesNotMatch(text, /STYLE|_PACKED|https?:\/\//);
}

/** Tests in a browser of their own: what is drawn in one page does not wait for another. */
async function inTurn(...tests) {
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  try {
    for (const test of tests) await test(browser);
  } finally {
    await browser.close();
  }
}

smallAndWhole();
await Promise.all([inTurn(everyPart, outOfRoom, explored, packageInBrowser), inTurn(everyLook)]);

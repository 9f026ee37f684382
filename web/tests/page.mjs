// The page in a real browser: node page.mjs FOLDER COUA. FOLDER has page.html, package/ and filters.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [folder, coua] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const path = join(folder, "page.html");
const address = pathToFileURL(path).href;
const PARTS = ["why", "two", "evict", "fp", "del", "grow", "size", "look", "sum"];
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

/** The long work of a part begins when it comes near. */
async function throughout(page) {
  const comeTo = (part) => page.locator(`#${part}`).evaluate((element) => element.scrollIntoView());
  await comeTo("evict");
  await page.waitForFunction(() => document.querySelectorAll("#evict circle").length > 400);
  await comeTo("grow");
  await page.waitForFunction(() => /(at most|最多) 0\.10 %/.test(document.querySelector("#grow").textContent) && document.querySelectorAll("#grow circle").length === 2);
}

/** One page, whose width, language and colors change: what it measures is measured once. */
async function everyLook(browser) {
  const page = await opened(browser, address, { locale: "en-US", reducedMotion: "reduce" });
  await throughout(page);
  await page.locator("#look .drop button").first().click();
  await page.evaluate(axe);
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 });
    for (const language of ["zh", "en"]) {
      await page.locator("#language").click();
      await page.waitForSelector("#look canvas");
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
  const heights = await page.locator("#evict .slot").evaluateAll((slots) => slots.map((slot) => slot.clientHeight));
  assert.equal(new Set(heights).size, 1, `${name}: a fingerprint is one line`);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), [], name);
  console.log(`${name}: fine`);
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
  // 1. A removed word is gone from the cuckoo filter, and not from the Bloom filter.
  await click(page, "why", "Remove");
  assert.match(await textOf(page, "why"), /Cuckoo filter\d+ bytes, room for 16 words/);
  await click(page, "why", "Ask");
  const answers = await page.locator("#why .answer").allTextContents();
  assert.deepEqual(answers, ["kestrel: no", "kestrel: yes: wrong", "kestrel: no"]);
  // As many words as it has room for, and no more.
  const word = page.locator("#why input").first();
  for (let n = 0; n < 10; n += 1) {
    await word.fill(`word-${n}`);
    await click(page, "why", "Add");
    assert.equal((await page.textContent("#why .live")).startsWith("Refused: the cuckoo filter already has its 16 words"), n === 9, `${n}`);
  }
  assert.equal(await page.locator("#why .grid .used").count(), 16);
  // 2. Steps lead forwards and backwards, and the link keeps them.
  assert.match(await textOf(page, "two"), /Step 1 of 6/);
  for (let step = 1; step < 6; step += 1) await click(page, "two", "Next ▶");
  assert.match(await textOf(page, "two"), /Step 6 of 6.*from either side/s);
  assert.equal(await page.locator("#two .slot.new").count(), 1);
  await click(page, "two", "◀ Back");
  assert.match(page.url(), /two\.step=4/);
  await page.locator("#two").getByRole("button", { name: "primary bucket" }).first().hover();
  assert.ok(await page.locator("#two .bucket.linked").count() === 1, "a word is linked to its cells");
  // 3. A chain, move by move, with an arrow for each.
  await page.locator("#evict").scrollIntoViewIfNeeded();
  const moves = Number((await textOf(page, "evict")).match(/needed (\d+) moves/)[1]);
  for (let step = 0; step <= moves; step += 1) await click(page, "evict", "Next ▶");
  assert.equal(await page.locator("#evict .arrows > path").count(), moves);
  assert.equal(await page.locator("#evict .slot.new").count(), 1);
  // The picture of the documents: docs/explore.png.
  const box = await page.locator("#evict").boundingBox();
  const table = await page.locator("#evict .table").boundingBox();
  await page.evaluate(() => Promise.all(document.getAnimations().map((flight) => flight.finished.catch(() => {}))));
  const clip = { x: box.x - 8, y: box.y + await page.evaluate(() => scrollY) + 8, width: box.width + 16, height: table.y + table.height - box.y };
  await page.screenshot({ path: join(folder, "pictures", "explore.png"), fullPage: true, clip });
  const lost = await page.locator("#evict tbody tr").last().locator("td").allTextContents();
  assert.ok(lost[0] === "0" && Number(lost[1]) > 0, `lost: ${lost}`);
  // 4. A stranger that is taken for a bird, and measured rates near the law.
  await click(page, "fp", "Search for such a stranger");
  assert.match(await textOf(page, "fp"), /was never added, but the filter says yes/);
  for (const bits of [8, 12, 16]) {
    await page.locator("#fp input[type=range]").fill(String(bits));
    const [, law, measured] = (await textOf(page, "fp")).match(/By the formula: ([\d.]+) %.*strangers, ([\d.]+) %/s);
    assert.ok(Math.abs(Math.log(law / measured)) < 0.8, `${bits} bits: law ${law}, measured ${measured}`);
  }
  // 5. Who removes a stranger loses a bird; the ninth copy is counted.
  for (let step = 1; step < 3; step += 1) await click(page, "del", "Next ▶");
  assert.match(await textOf(page, "del"), /no\. It is gone, although it was never removed/);
  assert.match(await textOf(page, "del"), /500 evictions.*4 in slots, 5 counted in the overflow table/s);
  await click(page, "del", "Add “cuckoo” once more");
  assert.match(await textOf(page, "del"), /4 in slots, 6 counted/);
  // 6. Segments have split, and the rate holds while the chain's climbs.
  await throughout(page);
  await page.locator("#grow input[type=range]").fill("16");
  await page.waitForFunction(() => document.querySelector("#grow").textContent.includes("of 7 filters"));
  // One bit more of the segment, one less of the fingerprint.
  const example = /begin with ([01]+); its fingerprint has (\d+) bits, ([01]+)\./;
  const [, prefix, bits, fingerprint] = (await textOf(page, "grow")).match(example);
  await page.locator("#grow input[type=range]").fill("2");
  const [, before, , longer] = (await textOf(page, "grow")).match(example);
  assert.equal(before.length + longer.length, prefix.length + fingerprint.length);
  assert.ok(prefix.startsWith(before) && longer.endsWith(fingerprint));
  assert.ok(Number(bits) === fingerprint.length && longer.length > fingerprint.length);
  await page.locator("#grow input[type=range]").fill("16");
  const [, chain, splitting] = (await textOf(page, "grow")).match(/chain ([\d.]+) %.*segments ([\d.]+) %/s);
  assert.ok(chain > 0.3 && splitting <= 0.15, `chain ${chain}, splitting ${splitting}`);
  assert.ok(await page.locator("#grow .segments span").count() >= 32);
  // 7. The numbers of `coua plan`.
  assert.match(await textOf(page, "size"), /163\.3 MiB, 13\.7 bits per item/);
  // 8. A sample is shown, a damaged one is refused with the reason.
  await click(page, "look", "Make a sample");
  await click(page, "look", "Look it up");
  await page.waitForFunction(() => document.querySelector("#look").textContent.includes("The snapshot has 9."));
  await click(page, "look", "Check all segments");
  await page.waitForFunction(() => /All \d+ segments are intact/.test(document.querySelector("#look").textContent));
  await click(page, "look", "…and a damaged one");
  await page.waitForFunction(() => /is damaged: the checksum/.test(document.querySelector("#look").textContent));
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
  assert.match(proof, /其中 \d+ 个误报“无”是第 5 节中故意造成的/);
  console.log("every part does what it says");
}

const shows = (page, text) => page.waitForFunction((wanted) => document.querySelector("#look").textContent.includes(wanted), text);

/** What the real program's files show, chosen by hand. */
async function files(browser) {
  const page = await opened(browser, address, { locale: "en-US" });
  // Until the file is open, the buttons belong to the one before.
  const choose = async (name) => {
    await page.setInputFiles("#look input[type=file]", join(folder, name));
    await page.waitForFunction((name) => document.querySelector("#look .live")?.textContent.startsWith(name), name);
  };
  const lookUp = async (key) => {
    await page.locator("#look input[type=text]").fill(key);
    await click(page, "look", "Look it up");
  };
  await choose("log.coua");
  await shows(page, "2 commits: 1 inserted, 0 removed");
  assert.match(await textOf(page, "look"), /coua\/run\/1 \(\d+ bytes\); coua\/run\/1\/file\/0 \(\d+ bytes\)/);
  await lookUp("kestrel");
  await shows(page, "The log adds 1 and removes 0: 1 now.");
  // A filter that forgets: the newest generation is shown, and others can be chosen.
  await choose("window.coua");
  await shows(page, "forgets items older than 7 d; 8 generations of 21 h");
  const generations = await page.locator("#look select option").allTextContents();
  assert.match(generations.join(", "), /^template \(empty\), \d+: 300,000$/);
  await lookUp("1000");
  await shows(page, "The snapshot has 1.");
  await lookUp("kestrel");
  await shows(page, "The log adds 1 and removes 0: 1 now.");
  await page.locator("#look select").selectOption("0");
  await shows(page, "Segment 0");
  await lookUp("1000");
  await shows(page, "The snapshot does not have it.");
  await choose("last.coua");
  await shows(page, "remembers the last 1,000 items; 8 generations of 125; counted from when they were last seen");
  // A byte in the middle is wrong: the file opens, and the damage is found.
  const bytes = readFileSync(join(folder, "log.coua"));
  bytes[bytes.length >> 1] ^= 1;
  writeFileSync(join(folder, "damaged.coua"), bytes);
  await choose("damaged.coua");
  await click(page, "look", "Check all segments");
  await page.waitForFunction(() => /Damaged segments: \d+\. The other \d+ are intact/.test(document.querySelector("#look").textContent));
  await choose("large.coua");
  const line = await page.textContent("#look .live");
  const mebibytes = Number(line.match(/after reading ([\d.]+) MiB/)?.[1]);
  assert.ok(mebibytes < 8 && statSync(join(folder, "large.coua")).size > 1.8e9, line);
  await closed(page);
  console.log(line);
}

/** The page with a filter in it: a small one as a whole, and parts of a large one. */
async function explored(browser) {
  const key = "</script><img src=x onerror=alert(1)>";
  const explore = async (name) => {
    const made = join(folder, "explored.html");
    execFileSync(coua, ["explore", join(folder, name), "--key", "kestrel", "--key", key, "-o", made]);
    assert.ok(statSync(made).size < 7_000_000, name);
    return opened(browser, pathToFileURL(made).href, { locale: "en-US" });
  };
  const small = await explore("<b>small.coua");
  await shows(small, "1 commits: 0 inserted, 0 removed");
  assert.match(await small.textContent("#look .live"), /^<b>small.coua: /);
  assert.deepEqual(await small.locator("#look .answers li").allTextContents(), ["kestrel copies in the filter: 1", `${key} copies in the filter: 0`]);
  await click(small, "look", "kestrel");
  await shows(small, "The snapshot has 1.");
  await click(small, "look", "Check all segments");
  await shows(small, "segments are intact");
  await small.locator("#look").screenshot({ path: join(folder, "pictures", "explored-small.png") });
  await closed(small);
  const logged = await explore("log.coua");
  await click(logged, "look", "kestrel");
  await shows(logged, "The log adds 1 and removes 0: 1 now.");
  await closed(logged);
  const large = await explore("large.coua");
  await shows(large, "Segment 0 has");
  await click(large, "look", "kestrel");
  await shows(large, "The snapshot has 1.");
  await large.locator("#look").screenshot({ path: join(folder, "pictures", "explored-large.png") });
  await large.locator("#look input[type=number]").fill("1");
  await shows(large, "This part of the file is not in the page");
  // A file that is chosen takes its place.
  await large.setInputFiles("#look input[type=file]", join(folder, "window.coua"));
  await shows(large, "forgets items older than 7 d");
  assert.equal(await large.locator("#look .answers").count(), 0);
  await closed(large);
  console.log("coua explore shows the filter that it is given");
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
  assert.ok(text.length <= 300_000, `${text.length} bytes`);
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
await Promise.all([inTurn(everyPart, files, explored, packageInBrowser), inTurn(everyLook)]);

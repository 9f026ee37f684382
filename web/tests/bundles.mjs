// The installed package in what bundlers make of it, run by Chromium; and its types as compilers of TypeScript see them.
// node bundles.mjs, where vite, webpack, esbuild, typescript and playwright-core are installed.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { chromium } from "playwright-core";

const run = (program, ...args) => execFileSync("npx", ["--no-install", program, ...args], { encoding: "utf8" });
const write = (path, text) => (mkdirSync(join(path, ".."), { recursive: true }), writeFileSync(path, text));

// A page says what came of it in its title.
const SAY = `const seen = new CuckooFilter(); document.title = [seen.add("a"), seen.add("a")].join(" ");`;
const PAGE = (script) => `<!doctype html><title>nothing</title><script type="module" src="${script}"></script>`;
const WORKER = `import { CuckooFilter, init } from "coua/manual";
  init().then(() => { const seen = new CuckooFilter(); postMessage([seen.add("a"), seen.add("a")].join(" ")); });`;
rmSync("bundled", { recursive: true, force: true });
write("bundled/package.json", `{ "type": "module" }`);
write("bundled/automatic.js", `import { CuckooFilter } from "coua";\n${SAY}`);
write("bundled/manual.js", `import { CuckooFilter, init } from "coua/manual";\ninit().then(() => { ${SAY} });`);
write("bundled/worker.js", `const worker = new Worker(new URL("./work.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }) => { document.title = data; };`);
write("bundled/work.js", WORKER);

const PAGES = ["automatic", "manual", "worker"];
const bundlers = {
  vite() {
    for (const name of PAGES) write(`bundled/${name}.html`, PAGE(`./${name}.js`));
    const input = JSON.stringify(PAGES.map((name) => `${name}.html`));
    // The worker as it is by default, without await at its top level.
    write("bundled/vite.config.js", `export default { base: "./", build: { rollupOptions: { input: ${input} }, outDir: "vite" } };`);
    run("vite", "build", "--logLevel", "warn", "bundled");
  },
  webpack() {
    for (const name of PAGES) {
      run("webpack", `./bundled/${name}.js`, "--mode", "production", "-o", `bundled/webpack/${name}`);
      write(`bundled/webpack/${name}.html`, PAGE(`./${name}/main.js`));
    }
  },
  esbuild() {
    // It leaves new URL(...) alone: coua.wasm has to be put beside the bundle, and workers are bundles of their own.
    for (const name of ["automatic", "manual", "work"]) {
      run("esbuild", `bundled/${name}.js`, "--bundle", "--format=esm", "--minify", `--outfile=bundled/esbuild/${name}.js`);
      write(`bundled/esbuild/${name}.html`, PAGE(`./${name}.js`));
    }
    write("bundled/esbuild/worker.js", readFileSync("bundled/worker.js"));
    write("bundled/esbuild/worker.html", PAGE("./worker.js"));
    write("bundled/esbuild/coua.wasm", readFileSync("node_modules/coua/coua.wasm"));
  },
};

const TYPES = { ".js": "text/javascript", ".html": "text/html", ".wasm": "application/wasm" };
const server = createServer((request, response) => {
  try {
    const body = readFileSync(join("bundled", new URL(request.url, "http://x").pathname));
    response.writeHead(200, { "content-type": TYPES[extname(request.url)] ?? "text/plain" }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const said = [];
for (const [bundler, make] of Object.entries(bundlers)) {
  make();
  for (const name of PAGES) {
    const page = await browser.newPage();
    page.on("pageerror", (error) => said.push(`${bundler}, ${name}: ${error.message}`));
    await page.goto(`http://127.0.0.1:${server.address().port}/${bundler}/${name}.html`);
    await page.waitForFunction(() => document.title !== "nothing", undefined, { timeout: 10_000 }).catch(() => {});
    if ((await page.title()) !== "true false") said.push(`${bundler}, ${name}: "${await page.title()}"`);
    await page.close();
  }
}
await browser.close();
server.close();
assert.deepEqual(said, []);
console.log("bundles of Vite, webpack and esbuild work");

// Modules of both kinds, and what a bundler reads.
const USE = `
  const filter = new CuckooFilter({ capacity: 10, whenFull: "refuse" });
  const added: boolean[] = filter.addMany(new Set(["a", new ArrayBuffer(2)]));
  const size: number = filter.merge(CuckooFilter.load(filter.save())).size;
  export const code: string | undefined = new CouaError().code ?? String([added, size]);
  // @ts-expect-error
  filter.add(7);
  const minute = new CuckooFilter(10, 0.1, { window: 60_000, clock: "given" });
  minute.addMany(["a"], [new Date()]);
  class Urls extends CuckooFilter {}
  const urls: Urls = Urls.load(filter.save());
  const counts: number[] = urls.insert("a").insertMany(["a"]).countMany(["a"]);
  { using scoped = new CuckooFilter(); scoped.add(String(counts)); }
  export const forgotten: number | undefined = minute.describe().window?.forgotten;`.replace("new CouaError()", "({} as CouaError)");
write("bundled/types/esm.mts", `import { CouaError, CuckooFilter } from "coua";\nimport { init } from "coua/manual";\nvoid init;${USE}`);
write("bundled/types/common.cts", `import { CouaError, CuckooFilter } from "coua";${USE}`);
const check = (module, resolution, file) =>
  run("tsc", "--noEmit", "--strict", "--target", "es2022", "--module", module, "--moduleResolution", resolution, file);
check("nodenext", "nodenext", "bundled/types/esm.mts");
check("nodenext", "nodenext", "bundled/types/common.cts");
check("node16", "node16", "bundled/types/common.cts");
check("esnext", "bundler", "bundled/types/esm.mts");
console.log("the types are right in every kind of module");

// In node.

import { readFile } from "node:fs/promises";
import { CuckooFilter, initialize } from "./coua.js";

await initialize(await readFile(new URL("./coua.wasm", import.meta.url)));

export { CuckooFilter };

// In node: at once, so that require() takes it too.

import { readFileSync } from "node:fs";
import { initializeNow } from "./coua.js";

export { CouaError, CuckooFilter } from "./coua.js";

initializeNow(readFileSync(new URL("./coua.wasm", import.meta.url)));

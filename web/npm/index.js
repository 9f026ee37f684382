// In a browser, or wherever files come over the network: ready when it is imported.

import { init } from "./manual.js";

export { CouaError, CuckooFilter } from "./coua.js";

await init();

// In a browser, or wherever files come over the network.

import { CuckooFilter, initialize } from "./coua.js";

const answer = await fetch(new URL("./coua.wasm", import.meta.url));
if (!answer.ok) throw new Error(`coua.wasm cannot be loaded (status ${answer.status})`);
await initialize(await answer.arrayBuffer());

export { CuckooFilter };

// For those who say themselves when coua.wasm is loaded, and from where: nothing happens at the import.

import { initialize } from "./coua.js";

export { CouaError, CuckooFilter } from "./coua.js";

/** Makes the package ready, from an address, an answer of fetch, bytes, or a compiled module. */
export async function init(source = new URL("./coua.wasm", import.meta.url)) {
  const isAddress = typeof source === "string" || source instanceof URL;
  const found = isAddress ? await fetch(source) : source;
  if (found instanceof Response) {
    if (!found.ok) throw new Error(`coua.wasm cannot be loaded from ${found.url} (status ${found.status})`);
    return initialize(await found.arrayBuffer());
  }
  return initialize(found);
}

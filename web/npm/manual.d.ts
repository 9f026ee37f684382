export * from "./index.js";

/**
 * Makes the package ready, from an address, an answer of `fetch`, the bytes of `coua.wasm`, or a compiled module; by
 * default from `coua.wasm` beside the package. Before that no filter can be made.
 */
export function init(source?: string | URL | Response | BufferSource | WebAssembly.Module): Promise<void>;

// In node, for CommonJS. coua.cjs is coua.js with other words for what it exports.

const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { CouaError, CuckooFilter, initializeNow } = require("./coua.cjs");

initializeNow(readFileSync(join(__dirname, "coua.wasm")));

module.exports = { CouaError, CuckooFilter };

//! Cuckoo and Bloom filters as a module for Valkey and Redis.
//!
//! A command passes each module once: `server` (the C interface) -> a file of `cuckoo::commands` or `bloom::commands`
//! (words to a checked request, and to an answer) -> the value of the key -> the library.
//! `docs/valkey.md` describes the commands.

mod bloom;
mod counters;
mod cuckoo;
#[doc(hidden)]
pub mod harness;
mod module;
mod parse;
mod pieces;
#[doc(hidden)]
pub mod redisbloom;
mod refusal;
mod reply;
mod server;
mod settings;
mod value;

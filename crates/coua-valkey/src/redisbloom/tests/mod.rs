//! Held against a real peer (`golden`), a plain twin (`twins`), hostile bytes (`hostile`) and
//! hand-made dumps of old encodings (`encodings`).

mod dump;
mod encodings;
mod golden;
mod hash;
mod hostile;
mod twins;

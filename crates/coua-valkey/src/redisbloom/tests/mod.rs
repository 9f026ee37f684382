//! Held against a real peer (`golden`), plain twins (`twins`), hostile bytes (`hostile`) and
//! hand-made dumps of old encodings (`encodings`).

mod dump;
mod encodings;
mod golden;
mod hash;
mod hostile;
mod twins;

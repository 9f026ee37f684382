//! A filter in a file: what it saves, what it refuses, and concurrent access.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod background;
mod copies;
mod damage;
mod equal;
mod files;
mod golden;
mod kill;
mod large;
mod mapped;
mod names;
mod owner;
mod processes;
mod samples;
mod text;
mod together;
mod windows;

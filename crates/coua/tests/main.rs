//! The tests of the library from outside. What needs a process of its own is a program of its own.

#[macro_use]
mod keys;

mod api;
mod batch;
mod classic;
mod few_bits;
mod format;
mod hostile_keys;
mod inspect;
mod law;
mod layers;
mod model;
mod plans;
mod rebuilt;
mod repeats;
mod reserve;
#[cfg(feature = "serde")]
mod serde;
mod shared;
mod textbook;
mod values;
mod window;

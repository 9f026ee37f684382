//! Filters that forget by age: beside a plain model, over a year of simulated time, and as files.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod file;
mod forge;
mod last_seen;
mod mapped;
mod plain;
mod rates;
mod reference;
mod year;

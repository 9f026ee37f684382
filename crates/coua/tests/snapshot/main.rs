//! Snapshots: what they must refuse, what they must survive, and what their bytes are.

#[path = "../random/mod.rs"]
mod random;
#[path = "../skipped/mod.rs"]
mod skipped;

mod counting;
mod damage;
mod files;
mod forge;
mod forged;
mod golden;
mod mapped;
mod samples;

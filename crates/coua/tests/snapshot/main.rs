//! Snapshots: what they must refuse, what they must survive, and what their bytes are.

#[path = "../everyday/mod.rs"]
mod everyday;
#[path = "../instruction_sets/mod.rs"]
mod instruction_sets;
#[path = "../random/mod.rs"]
mod random;

mod counting;
mod damage;
mod files;
mod forge;
mod forged;
mod golden;
mod mapped;
mod parts;
mod samples;

use instruction_sets::skipped;

//! Snapshots: what they must refuse, what they must survive, and what their bytes are.

mod counting;
mod damage;
mod files;
mod forge;
mod forged;
mod golden;
mod mapped;
mod parts;
mod samples;

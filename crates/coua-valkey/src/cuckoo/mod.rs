//! The module's own cuckoo filters.

mod changes;
mod compaction;
mod cuckoo_image;
mod cuckoo_request;
mod hash_list;
mod memory;
mod native_cuckoo;
mod notes;
mod outcome;
mod sorted_hashes;
mod table;
#[cfg(test)]
mod tests;
mod windowed;

pub(crate) use compaction::{Compaction, CompactionPosition};
#[cfg(any(test, feature = "fuzz"))]
pub(crate) use cuckoo_image::checksum;
pub(crate) use cuckoo_image::{begins_image, is_begun};
pub(crate) use cuckoo_request::{CuckooRequest, Defaults};
pub(crate) use memory::{MemoryCharge, release};
pub(crate) use native_cuckoo::NativeCuckoo;
pub(crate) use outcome::{Outcome, Outcomes};
pub(crate) use table::Figures;
pub(crate) use windowed::milliseconds;

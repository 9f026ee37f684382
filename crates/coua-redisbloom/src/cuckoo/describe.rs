//! What a cuckoo filter of the peer tells about itself.

use super::PeerCuckoo;

impl PeerCuckoo {
    /// Items in it. A dump may have stated more than it holds; never are they more than its slots.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Items removed since the last compaction.
    pub fn deletes(&self) -> u64 {
        self.deletes
    }

    /// Buckets of the first sub-filter.
    pub fn buckets(&self) -> u64 {
        self.shape.buckets
    }

    /// Sub-filters it has grown to.
    pub fn sub_filters(&self) -> u32 {
        self.sub_filters.len() as u32
    }

    /// Slots of a bucket.
    pub fn bucket_size(&self) -> u16 {
        self.shape.bucket_size
    }

    /// Relocations of an insert.
    pub fn max_iterations(&self) -> u16 {
        self.shape.max_iterations
    }

    /// How many times larger each sub-filter is than the one before; 0: it never grows.
    pub fn expansion(&self) -> u16 {
        self.shape.expansion
    }

    /// Slots of all sub-filters, a byte each.
    pub fn slots(&self) -> u64 {
        self.sub_filters.iter().map(|sub_filter| sub_filter.slots().len() as u64).sum()
    }

    /// The `Size` that the peer states for such a filter.
    pub fn peer_size(&self) -> u64 {
        const FILTER_BYTES: u64 = 40;
        const SUB_FILTER_BYTES: u64 = 16;
        FILTER_BYTES + SUB_FILTER_BYTES * u64::from(self.sub_filters()) + self.slots()
    }
}

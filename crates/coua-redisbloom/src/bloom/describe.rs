//! What a Bloom filter of the peer tells about itself.

use super::PeerBloom;
use super::link::Link;

/// One filter of a chain of Bloom filters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BloomPart {
    /// Bytes of its array of bits.
    pub bytes: u64,
    /// Its bits.
    pub bits: u64,
    /// Bits that an item sets.
    pub hashes: u32,
    /// Items that it takes.
    pub capacity: u64,
    /// Items that it was given.
    pub items: u64,
    /// Its false-positive rate when it is full.
    pub rate: f64,
}

impl PeerBloom {
    /// The filters of the chain, the first one first.
    pub fn parts(&self) -> Vec<BloomPart> {
        let part = |link: &Link| {
            let numbers = link.numbers();
            BloomPart {
                bytes: numbers.bytes,
                bits: numbers.bytes * 8,
                hashes: numbers.hashes,
                capacity: numbers.entries,
                items: link.items(),
                rate: numbers.error,
            }
        };
        self.links.iter().map(part).collect()
    }

    /// Items that set a bit when they were added.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Items it takes before it grows again.
    pub fn capacity(&self) -> u64 {
        let entries = self.links.iter().map(|link| link.numbers().entries);
        entries.fold(0, u64::saturating_add)
    }

    /// Filters it has grown to.
    pub fn filters(&self) -> u32 {
        self.links.len() as u32
    }

    /// How many times more items each filter takes than the one before; none if it does not grow.
    pub fn expansion(&self) -> Option<u32> {
        self.options.scales().then_some(self.growth)
    }

    /// Bytes of the arrays of bits.
    pub fn array_bytes(&self) -> u64 {
        self.links.iter().map(|link| link.array().len() as u64).sum()
    }

    /// The `Size` that the peer states for such a filter.
    pub fn peer_size(&self) -> u64 {
        const CHAIN_BYTES: u64 = 32;
        const LINK_BYTES: u64 = 64;
        CHAIN_BYTES + LINK_BYTES * u64::from(self.filters()) + self.array_bytes()
    }
}

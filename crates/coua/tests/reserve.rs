//! Room for more items than any machine has memory for: an error.

use coua::{CuckooFilter, CuckooFilterBuilder, KeyHash, WhenFull};

/// More than the address space has room for, up to the last number.
fn counts() -> impl Iterator<Item = u64> {
    let powers = (52..64).flat_map(|bits| [1 << bits, (1 << bits) + (1 << (bits - 1))]);
    powers.chain([7_931_615_814_735_164_928, 16_417_602_225_601_502_208, u64::MAX - 1, u64::MAX])
}

fn builders() -> impl Iterator<Item = CuckooFilterBuilder> {
    let policies = [WhenFull::Grow, WhenFull::Refuse, WhenFull::ExceedRate];
    policies.into_iter().flat_map(|when_full| {
        let like = CuckooFilter::builder().when_full(when_full);
        [
            like.clone().hash_bits(64),
            like.clone().hash_bits(20),
            like.clone().hash_bits(8),
            like.capacity(1000).rate(0.01),
        ]
    })
}

#[test]
fn impossible_room_is_refused() {
    for builder in builders() {
        let mut filter = builder.build().unwrap();
        filter.insert(coua::KeyHash::from_u64(7)).unwrap();
        let before = (filter.memory_bytes(), filter.capacity());
        for items in counts() {
            filter.reserve(items).unwrap_err();
            assert_eq!((filter.memory_bytes(), filter.capacity()), before, "{items}: {filter:?}");
        }
        assert!(filter.contains(coua::KeyHash::from_u64(7)) && filter.len() == 1);
    }
}

/// Their segments would be crowded, and the others empty.
#[test]
fn nothing_is_reserved_where_keys_share_a_prefix() {
    let mut filter = CuckooFilter::new();
    for key in 0..20_000_u64 {
        filter.insert(KeyHash::from_u64(key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 6)).unwrap();
    }
    let before = (filter.slots(), filter.memory_bytes());
    filter.reserve(400_000).unwrap();
    assert_eq!((filter.slots(), filter.memory_bytes()), before, "{filter:?}");
}

//! Values that must never change: hashes, and the bytes of snapshots.

use std::fs;
use std::path::PathBuf;

use coua::{CuckooFilter, KeyHasher, Load, WhenFull};

use crate::samples::bytes_of;
use coua_dev::instruction_sets;

/// The test pattern of the xxHash project (`xsum_sanity_check.c`).
fn sanity_buffer(length: usize) -> Vec<u8> {
    let mut state = 2_654_435_761u64;
    let step = |_| {
        let byte = (state >> 56) as u8;
        state = state.wrapping_mul(0x9e37_79b1_85eb_ca8d);
        byte
    };
    (0..length).map(step).collect()
}

/// Computed with the C implementation, version 0.8.4 (Python package xxhash); those with seed 0 and
/// the prime also stand in its sanity check.
const XXH3: [(u64, usize, u64); 33] = [
    (0, 0, 0x2d06_8005_38d3_94c2),
    (0, 1, 0xc44b_dff4_074e_ecdb),
    (0, 3, 0x5424_7382_a8d6_b94d),
    (0, 4, 0xe5dc_74bc_5184_8a51),
    (0, 8, 0x24cc_c9ac_aa9f_65e4),
    (0, 9, 0x14d5_001c_15dd_3f2b),
    (0, 16, 0x981b_17d3_6c74_98c9),
    (0, 17, 0x796f_5acd_3a60_f862),
    (0, 64, 0x9cb4_8487_720e_c49d),
    (0, 128, 0xfcff_2412_6754_d861),
    (0, 129, 0x98f1_b0a6_79a2_ca29),
    (0, 240, 0x81c3_c2b6_7f56_8ccf),
    (0, 241, 0xc5a6_39ec_d203_0e5e),
    (0, 1024, 0xdd85_c9b5_c110_9c5c),
    (0, 2048, 0xdd59_e2c3_a5f0_38e0),
    (0, 2240, 0x6e73_a905_39cf_2948),
    (0x9e37_79b1_85eb_ca8d, 0, 0xa8a6_b918_b2f0_364a),
    (0x9e37_79b1_85eb_ca8d, 1, 0x032b_e332_dd76_6ef8),
    (0x9e37_79b1_85eb_ca8d, 9, 0xb3ae_7333_d901_3f60),
    (0x9e37_79b1_85eb_ca8d, 17, 0xf3ec_5067_f430_6db3),
    (0x9e37_79b1_85eb_ca8d, 129, 0x21ff_fdbc_a099_c844),
    (0x9e37_79b1_85eb_ca8d, 241, 0xdda9_b0a1_61d4_829a),
    (0x9e37_79b1_85eb_ca8d, 2240, 0x757b_a848_7d1b_5247),
    (42, 0, 0xb029_411f_f43d_84d2),
    (42, 1, 0x5cf1_0f10_bf2d_d245),
    (42, 4, 0xaa8c_0f07_37df_ac6b),
    (42, 8, 0x2b64_0081_cae7_e4ab),
    (42, 16, 0xf1d1_9297_3720_8a0e),
    (42, 64, 0xaca7_ceb6_0851_4892),
    (42, 128, 0xdc60_176d_2f62_b154),
    (42, 240, 0x266b_2707_6a0d_90e3),
    (42, 1024, 0x4793_b700_30b7_66ff),
    (42, 2240, 0xc791_4b1e_c803_f696),
];

#[test]
fn xxh3_has_its_published_values() {
    let buffer = sanity_buffer(2_240);
    for (seed, length, value) in XXH3 {
        let hash = KeyHasher::Xxh3 { seed }.hash(&buffer[..length]).to_u64();
        assert_eq!(hash, value, "seed {seed:#x}, {length} bytes");
    }
    assert_eq!(KeyHasher::default().hash(b"abc").to_u64(), 0x78af_5f94_892f_3950);
    let seven = [7_u8, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(KeyHasher::default().hash(7), KeyHasher::default().hash(seven));
}

/// Computed with `CPython`'s hash of bytes, which is SipHash-1-3: the key is zero with
/// `PYTHONHASHSEED=0`, and with 42 the one below.
#[test]
fn siphash_has_its_published_values() {
    let hundred: Vec<u8> = (0..100).collect();
    let inputs: [&[u8]; 4] = [b"a", b"kestrel", b"0123456789abcdef", &hundred];
    let zero = [
        0x4074_48d2_b89b_1813,
        0x10a4_82b3_907b_9248,
        0x1d42_b30f_7e06_0c24,
        0x1c6a_66e1_506e_7908,
    ];
    let other = [
        0xfe4a_4733_5692_551e,
        0x8433_09e1_03c0_e10a,
        0xfb45_b65d_4dce_0272,
        0x389e_dd7d_b80b_22b5,
    ];
    let key = 0xaf90_cd68_d34f_50dc_c1e9_99fe_9fbb_20b9_u128;
    let mut key_bytes = key.to_le_bytes();
    key_bytes.reverse();
    for (secret, values) in [([0; 16], zero), (key_bytes, other)] {
        for (input, value) in inputs.into_iter().zip(values) {
            assert_eq!(KeyHasher::SipHash13 { key: secret }.hash(input).to_u64(), value);
        }
    }
}

/// Filters made by operations that are written down here for good.
fn golden_filters() -> [(&'static str, CuckooFilter); 4] {
    let fixed = CuckooFilter::builder().capacity(300).rate(0.001).when_full(WhenFull::Refuse);
    let packed = CuckooFilter::builder().capacity(100).hash_bits(28);
    let packed = packed.hasher(KeyHasher::Xxh3 { seed: 7 }).max_evictions(3);
    let wide = CuckooFilter::builder().capacity(300).hash_bits(40);
    let grown = CuckooFilter::builder().capacity(1).hash_bits(16);
    let mut filters = [
        ("v1-fixed.coua", fixed.build().expect("valid")),
        ("v1-packed.coua", packed.build().expect("valid")),
        ("v1-wide.coua", wide.build().expect("valid")),
        ("v1-grown.coua", grown.build().expect("valid")),
    ];
    for (_, filter) in &mut filters {
        for number in 0..299 {
            filter.insert(format!("key {number}")).expect("room");
        }
        for number in 0..100 {
            assert!(filter.remove(format!("key {number}")));
        }
        for _ in 0..9 {
            filter.insert("kestrel").expect("room");
        }
    }
    filters
}

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// With `COUA_WRITE_FIXTURES` set it writes them: for a new version of the format, or another rule by which
/// filters grow, only under new names.
#[test]
fn the_same_operations_write_the_bytes_of_the_fixtures() {
    for (name, filter) in golden_filters() {
        if std::env::var_os("COUA_WRITE_FIXTURES").is_some() {
            fs::write(fixture(name), bytes_of(&filter)).unwrap();
        }
        let stored = fs::read(fixture(name)).unwrap();
        assert!(stored == bytes_of(&filter), "{name}: the bytes of a filter have changed");
    }
}

#[test]
fn the_fixtures_of_every_version_are_read() {
    let mut read = 0;
    for entry in fs::read_dir(fixture("")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "coua") {
            let filter = Load::new().open::<CuckooFilter>(&path).unwrap();
            assert_eq!(filter.len(), 208, "{}", path.display());
            assert!((100..299).all(|number| filter.contains(format!("key {number}"))));
            assert!(filter.count("kestrel") >= 9);
            read += 1;
        }
    }
    assert!(read >= 4);
}

#[test]
fn golden_values_with_fewer_instructions() {
    instruction_sets::run_again_with_fewer("golden::", "golden_values_with_fewer_instructions");
}

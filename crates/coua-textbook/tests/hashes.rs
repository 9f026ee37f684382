//! The hash functions have their published values.

use coua_textbook::{fnv1, fnv1a, murmur3};

/// Test vectors of the FNV reference code, and its shortest key whose FNV-1a is 0.
#[test]
fn fnv() {
    for (key, one, one_a) in [
        ("", 0xcbf2_9ce4_8422_2325, 0xcbf2_9ce4_8422_2325),
        ("a", 0xaf63_bd4c_8601_b7be, 0xaf63_dc4c_8601_ec8c),
        ("b", 0xaf63_bd4c_8601_b7bd, 0xaf63_df4c_8601_f1a5),
        ("foobar", 0x340d_8765_a4dd_a9c2, 0x8594_4171_f739_67e8),
    ] {
        assert_eq!((fnv1(key.as_bytes()), fnv1a(key.as_bytes())), (one, one_a), "{key}");
    }
    assert_eq!(fnv1a(&[0xd5, 0x6b, 0xb9, 0x53, 0x42, 0x87, 0x08, 0x36]), 0);
}

#[test]
fn murmur3_of_well_known_keys() {
    let fox = "The quick brown fox jumps over the lazy dog";
    for (key, seed, value) in [
        ("", 0, 0),
        ("", 1, 0x514e_28b7),
        ("", 0xffff_ffff, 0x81f1_6f39),
        ("a", 0x9747_b28c, 0x7fa0_9ea6),
        ("aa", 0x9747_b28c, 0x5d21_1726),
        ("aaa", 0x9747_b28c, 0x283e_0130),
        ("aaaa", 0x9747_b28c, 0x5a97_808a),
        ("test", 0, 0xba6b_d213),
        ("Hello, world!", 0x9747_b28c, 0x2488_4cba),
        (fox, 0, 0x2e4f_f723),
        (fox, 0x9747_b28c, 0x2fa8_26cd),
    ] {
        assert_eq!(murmur3(key.as_bytes(), seed), value, "{key} {seed:x}");
    }
}

/// The verification value of `SMHasher`, the test program of the author: the hash of 256 hashes.
#[test]
fn murmur3_of_all_lengths() {
    let key: Vec<u8> = (0..=255).collect();
    let hash = |length: u32| murmur3(&key[..length as usize], 256 - length) as u32;
    let hashes: Vec<u8> = (0..256).flat_map(|length| hash(length).to_le_bytes()).collect();
    assert_eq!(murmur3(&hashes, 0), 0xb0f5_7ee3);
}

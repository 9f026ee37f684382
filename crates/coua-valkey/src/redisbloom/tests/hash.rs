//! The hash against values that other programs computed.

use super::super::murmur::murmur64;

/// Bytes of which no two neighbors and no two lengths are alike.
fn item(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 37 + len) as u8).collect()
}

#[test]
fn murmur64_agrees_with_the_python_function_in_make_py() {
    let expected = [
        (0, 0x1b8d_96b1_1cf9_9946),
        (1, 0x929a_6b27_2808_3b1f),
        (2, 0xd6e6_3480_97b7_e428),
        (3, 0x098e_2543_4f4e_aa93),
        (4, 0x454f_ffc0_8945_b32c),
        (5, 0xa4b5_3584_2b35_6c3f),
        (6, 0x7c42_030c_afc0_b2c3),
        (7, 0x18ef_eb1a_635b_a014),
        (8, 0x4ef8_2352_0a52_cc89),
        (9, 0x3f4d_c3b4_06ea_759b),
        (16, 0x8d86_ac8f_cd24_9004),
        (33, 0x7838_e73e_79d1_ae51),
    ];
    for (len, hash) in expected {
        assert_eq!(murmur64(&item(len), 0x0123_4567_89ab_cdef), hash, "{len} bytes");
    }
}

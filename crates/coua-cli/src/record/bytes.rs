//! Records that end with one byte.

use wide::u8x64;

/// Bytes looked at together.
const CHUNK: usize = 64;

/// Appends to `ends` the end (after the byte) of every record completed in `bytes[from..]`.
///
/// Most records are short. A search for the next byte begins anew in each of them; here all that end in a
/// chunk are found at once.
pub(super) fn ends(byte: u8, bytes: &[u8], from: usize, ends: &mut Vec<usize>) {
    let wanted = u8x64::splat(byte);
    let (chunks, rest) = bytes[from..].as_chunks::<CHUNK>();
    let mut before = from;
    let mut look = |chunk: [u8; CHUNK], among: u64| {
        let mut found = u8x64::new(chunk).simd_eq(wanted).to_bitmask() & among;
        while found != 0 {
            ends.push(before + found.trailing_zeros() as usize + 1);
            found &= found - 1;
        }
        before += CHUNK;
    };
    for chunk in chunks {
        look(*chunk, u64::MAX);
    }
    let mut last = [0; CHUNK];
    last[..rest.len()].copy_from_slice(rest);
    look(last, (1 << rest.len()) - 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use memchr::memchr_iter;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_are_found(
            bytes in proptest::collection::vec(prop::sample::select(b"ab\n\0\xff".as_slice()), 0..300),
            byte in prop::sample::select(b"\n\0\xffx".as_slice()),
            from in 0_usize..300,
        ) {
            let from = from.min(bytes.len());
            let mut found = vec![7];
            ends(byte, &bytes, from, &mut found);
            let expected = memchr_iter(byte, &bytes[from..]).map(|at| from + at + 1);
            prop_assert_eq!(found, [7].into_iter().chain(expected).collect::<Vec<_>>());
        }
    }
}

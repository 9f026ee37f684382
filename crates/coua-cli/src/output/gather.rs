//! Bytes that are gathered before they are written.

/// Longer pieces are copied by `memcpy`.
const FEW_BYTES: usize = 256;

/// Appends bytes. Copies few bytes here, in pieces of a known length: in a static program, a call of musl's `memcpy`
/// takes longer than all other work for a short line.
#[inline]
pub(super) fn append(bytes: &[u8], to: &mut Vec<u8>) {
    if bytes.len() > FEW_BYTES {
        to.extend_from_slice(bytes);
        return;
    }
    let (sixteens, mut rest) = bytes.as_chunks::<16>();
    for piece in sixteens {
        to.extend_from_slice(piece);
    }
    if let Some((piece, after)) = rest.split_first_chunk::<8>() {
        to.extend_from_slice(piece);
        rest = after;
    }
    if let Some((piece, after)) = rest.split_first_chunk::<4>() {
        to.extend_from_slice(piece);
        rest = after;
    }
    for byte in rest {
        to.push(*byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_length_are_appended() {
        let bytes: Vec<u8> = (0..2 * FEW_BYTES).map(|number| number as u8).collect();
        for length in 0..=bytes.len() {
            let mut to = b"before".to_vec();
            append(&bytes[..length], &mut to);
            assert_eq!(to.strip_prefix(b"before"), Some(&bytes[..length]), "{length}");
        }
    }
}

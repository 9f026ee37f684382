//! What the images of both kinds of filters have in common.

use coua::KeyHasher;

/// The first bytes of every image.
pub(crate) const MAGIC: [u8; 8] = *b"CouaKey1";
/// Whether these bytes look like the beginning of an image, though some of them may be damaged.
pub(crate) fn begins_image(bytes: &[u8]) -> bool {
    let alike = bytes.iter().zip(MAGIC).filter(|&(&found, expected)| found == expected);
    alike.count() * 2 > MAGIC.len()
}

/// The hash of all filters that are created here.
pub(crate) const SIPHASH_1_3: u32 = 2;
/// The hash of filters without a secret, which come from files.
pub(crate) const XXH3: u32 = 1;

/// XXH3-64 with seed 0.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    KeyHasher::xxh3(0).hash(bytes).to_u64()
}

/// The number at an offset, little endian; 0 if it is not there.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk());
    field.map_or(0, |field| u32::from_le_bytes(*field))
}

/// The number at an offset, little endian.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

//! Compressed inputs.

use std::io::Write;

pub(crate) type Compress = fn(&[u8]) -> Vec<u8>;
pub(crate) const COMPRESSIONS: [(&str, Compress); 5] =
    [("gz", gzip), ("zst", zstd), ("xz", xz), ("bz2", bzip2), ("lz4", lz4)];

pub(crate) fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn xz(text: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// With a checksum, as the tool writes it.
pub(crate) fn zstd(text: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn lz4(text: &[u8]) -> Vec<u8> {
    let info = lz4_flex::frame::FrameInfo::new().content_checksum(true);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Members with their sizes, and an empty one at the end, as `bgzip` writes them.
pub(crate) fn bgzip(text: &[u8]) -> Vec<u8> {
    text.chunks(0xff00).chain([&[][..]]).flat_map(bgzip_member).collect()
}

fn bgzip_member(text: &[u8]) -> Vec<u8> {
    let (level, mut crc) = (flate2::Compression::fast(), flate2::Crc::new());
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), level);
    encoder.write_all(text).unwrap();
    let deflated = encoder.finish().unwrap();
    crc.update(text);
    let size = u16::try_from(deflated.len() + 25).unwrap();
    let header = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0";
    let end = [crc.sum(), crc.amount()].map(u32::to_le_bytes).concat();
    [&header[..], &size.to_le_bytes(), &deflated, &end].concat()
}

/// Frames of some records each, as `pzstd` writes them.
pub(crate) fn zstd_frames(text: &[u8]) -> Vec<u8> {
    text.chunks(300_001).flat_map(zstd).collect()
}

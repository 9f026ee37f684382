//! Recognizes compressed inputs by their first bytes.

use crate::input::open::Tap;
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// Compressed bytes are read in pieces of this size.
const PIECE: usize = 128 * 1024;

/// How an input is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
    Xz,
    Bzip2,
}

impl Compression {
    /// The name people know, for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
        }
    }
}

/// First bytes; `?` is any byte, `_` one from 0x50 to 0x5f. bzip2's own four are letters that a text may
/// begin with, so those of its first block (or, in an empty file, of its end) are asked for too. zstd's
/// second are those of a frame to be skipped, which `pzstd` begins with.
const MAGICS: [(Compression, &[u8]); 6] = [
    (Compression::Gzip, b"\x1f\x8b\x08"),
    (Compression::Zstd, b"\x28\xb5\x2f\xfd"),
    (Compression::Zstd, b"_\x2a\x4d\x18"),
    (Compression::Xz, b"\xfd7zXZ\0"),
    (Compression::Bzip2, b"BZh?1AY&SY"),
    (Compression::Bzip2, b"BZh?\x17rE8P\x90"),
];

/// What the first bytes tell; nothing if more are needed.
fn guess(start: &[u8]) -> Option<Compression> {
    let agree = |magic, byte| match magic {
        b'?' => true,
        b'_' => byte & 0xf0 == 0x50,
        _ => magic == byte,
    };
    let agrees = |magic: &[u8]| magic.iter().zip(start).all(|(m, b)| agree(*m, *b));
    match MAGICS.iter().find(|(_, magic)| agrees(magic)) {
        Some((compression, magic)) => (start.len() >= magic.len()).then_some(*compression),
        None => Some(Compression::None),
    }
}

/// Reads as few bytes as tell how the input is compressed, so that a short first line in a pipe is
/// not held back.
fn recognise(tap: &mut Tap) -> io::Result<(Compression, Vec<u8>)> {
    let mut start = vec![0; PIECE];
    let mut filled = 0;
    let compression = loop {
        let read = tap.read(&mut start[filled..])?;
        filled += read;
        match guess(&start[..filled]) {
            Some(compression) => break compression,
            None if read == 0 => break Compression::None,
            None => {}
        }
    };
    start.truncate(filled);
    Ok((compression, start))
}

/// The decompressed bytes of an input.
pub(crate) fn decoded(mut tap: Tap) -> io::Result<(Compression, Box<dyn Read + Send>)> {
    let (compression, start) = recognise(&mut tap)?;
    let all = Cursor::new(start).chain(tap);
    let pieces = |all| BufReader::with_capacity(PIECE, all);
    let reader: Box<dyn Read + Send> = match compression {
        Compression::None => Box::new(all),
        Compression::Gzip => Box::new(Members { member: Some(GzDecoder::new(pieces(all))) }),
        Compression::Zstd => Box::new(zstd::Decoder::with_buffer(pieces(all))?),
        Compression::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(pieces(all))),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(pieces(all))),
    };
    Ok((compression, reader))
}

/// The members of a gzip file, one after the other. Zeros may follow one, as they do on tapes and in blocks
/// of fixed size: `gzip` passes over them too.
struct Members<R> {
    /// None at the end.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            skip_zeros(member.get_mut())?;
            let has_next = !member.get_mut().fill_buf()?.is_empty();
            self.member = self
                .member
                .take()
                .filter(|_| has_next)
                .map(|member| GzDecoder::new(member.into_inner()));
        }
        Ok(0)
    }
}

fn skip_zeros(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let bytes = input.fill_buf()?;
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let is_all = zeros == bytes.len();
        input.consume(zeros);
        if zeros == 0 || !is_all {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes() {
        let certain = |start: &[u8], compression| {
            assert_eq!(guess(start), Some(compression), "{start:?}");
        };
        certain(b"\x1f\x8b\x08\0", Compression::Gzip);
        certain(b"\x28\xb5\x2f\xfd", Compression::Zstd);
        certain(b"\x50\x2a\x4d\x18", Compression::Zstd);
        certain(b"\x5f\x2a\x4d\x18", Compression::Zstd);
        certain(b"P*M?", Compression::None);
        certain(b"\xfd7zXZ\0", Compression::Xz);
        certain(b"BZh91AY&SY", Compression::Bzip2);
        certain(b"BZh9\x17\x72\x45\x38\x50\x90", Compression::Bzip2);
        certain(b"BZh9 is a bird", Compression::None);
        certain(b"a", Compression::None);
        certain(b"(a)", Compression::None);
        for start in [b"".as_slice(), b"(", b"BZh", b"\x1f\x8b", b"\xfd7zXZ"] {
            assert_eq!(guess(start), None, "{start:?}");
        }
    }
}

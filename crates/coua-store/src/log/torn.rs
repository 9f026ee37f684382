//! Decides whether bytes that are not a frame are the end of an interrupted write, or damage.
//!
//! A crash during a write leaves a file that ends too early, or, after a power cut, unwritten sectors
//! that read as zeros; and only within the last transaction, because the previous
//! one was synced before it began. Anything else is damage.

use std::io;

use super::frame::{END_BYTES, HEAD_BYTES, Head, MAGIC};
use super::{Kind, Source};

/// The unit that a disk writes completely.
const SECTOR: u64 = 512;
/// Bytes that are read at a time.
const STEP: usize = 1 << 20;

/// Whether all bytes from `begin` to the end of the file may be an interrupted write.
pub(super) fn is_torn(file: &dyn Source, begin: u64, end: u64) -> io::Result<bool> {
    let mut scan = TornScan { committed: None, goes_on: false, lost: false };
    let mut bytes = Vec::new();
    let mut at = begin;
    while at < end {
        // A little more, to see heads across the border.
        bytes.resize((STEP as u64 + HEAD_BYTES).min(end - at) as usize, 0);
        let read = file.read_at(at, &mut bytes)?;
        bytes.truncate(read);
        if bytes.is_empty() {
            break;
        }
        // Whole sectors, unless the file ends.
        let beyond = ((at + STEP as u64) % SECTOR) as usize;
        let step = if bytes.len() > STEP { STEP - beyond } else { bytes.len() };
        scan.at_heads(&bytes, step, at);
        scan.at_sectors(&bytes[..step], at);
        if scan.goes_on {
            return Ok(false);
        }
        at += step as u64;
    }
    Ok(scan.lost)
}

struct TornScan {
    /// The end of the first commit.
    committed: Option<u64>,
    /// A frame of another transaction follows it.
    goes_on: bool,
    /// A sector was never written.
    lost: bool,
}

impl TornScan {
    fn at_heads(&mut self, bytes: &[u8], step: usize, at: u64) {
        for begin in 0..step {
            if bytes[begin] != MAGIC[0] {
                continue;
            }
            let Some(Ok(head)) = Head::decode(&bytes[begin..]) else { continue };
            let place = at + begin as u64;
            match self.committed {
                Some(end) => self.goes_on |= place >= end,
                None if head.kind == Kind::Commit => {
                    self.committed = Some(place + HEAD_BYTES + head.payload_bytes + END_BYTES);
                }
                None => {}
            }
        }
    }

    fn at_sectors(&mut self, mut bytes: &[u8], mut at: u64) {
        while !bytes.is_empty() {
            let length = (SECTOR - at % SECTOR).min(bytes.len() as u64);
            let (sector, rest) = bytes.split_at(length as usize);
            self.lost |= sector.iter().all(|&byte| byte == 0);
            (bytes, at) = (rest, at + length);
        }
    }
}

//! The hashes of records, written in order and read backwards.

use crate::filter::op::NoRoom;
use crate::input::spool_failure;
use crate::terminal::{Exit, Failure, Result};
use coua::KeyHash;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Hashes written or read at a time.
const CHUNK: usize = 1 << 15;

/// Bytes of a hash.
const HASH: usize = size_of::<u64>();

/// The name in messages.
const NAME: &str = "hashes for the second pass";

/// A list of hashes, in memory and in a file.
#[derive(Debug, Default)]
pub(super) struct HashSpool {
    /// The hashes that are not in the file.
    rest: Vec<KeyHash>,
    /// A temporary file of whole chunks; `None` until it is needed.
    file: Option<File>,
    chunks: u64,
}

impl HashSpool {
    pub(super) fn len(&self) -> u64 {
        self.chunks * CHUNK as u64 + self.rest.len() as u64
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.rest.capacity() * HASH
    }

    pub(super) fn append(&mut self, hashes: &[KeyHash]) -> Result<()> {
        if self.rest.try_reserve(hashes.len()).is_err() {
            return Err(nothing_printed(&NoRoom::memory(self.len())));
        }
        self.rest.extend_from_slice(hashes);
        let whole = self.rest.len() / CHUNK;
        if whole == 0 {
            return Ok(());
        }
        self.write(whole).map_err(|error| spool_failure(NAME, &error))
    }

    /// Moves chunks to the file.
    fn write(&mut self, chunks: usize) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let hashes = self.rest.drain(..chunks * CHUNK);
        let bytes: Vec<u8> = hashes.flat_map(|hash| hash.to_u64().to_le_bytes()).collect();
        file.write_all(&bytes)?;
        self.chunks += chunks as u64;
        Ok(())
    }

    /// Calls `visit` with all hashes in reverse order, a chunk at a time.
    pub(super) fn read_backwards(
        mut self,
        mut visit: impl FnMut(&mut dyn Iterator<Item = KeyHash>) -> Result<()>,
    ) -> Result<()> {
        for chunk in self.rest.rchunks(CHUNK) {
            visit(&mut chunk.iter().rev().copied())?;
        }
        self.rest = Vec::new();
        let Some(mut file) = self.file else { return Ok(()) };
        let mut bytes = vec![0; CHUNK * HASH];
        for chunk in (0..self.chunks).rev() {
            let read = file.seek(SeekFrom::Start(chunk * (CHUNK * HASH) as u64));
            let read = read.and_then(|_| file.read_exact(&mut bytes));
            read.map_err(|error| spool_failure(NAME, &error))?;
            let (hashes, _) = bytes.as_chunks();
            let hash = |bytes: &[u8; HASH]| KeyHash::from_u64(u64::from_le_bytes(*bytes));
            visit(&mut hashes.iter().rev().map(hash))?;
        }
        Ok(())
    }
}

/// The failure if there is no room for the second pass.
pub(crate) fn nothing_printed(no_room: &NoRoom) -> Failure {
    Failure::ending(Exit::Full, "filter", format_args!("{}; nothing was printed", no_room.why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backwards(spool: HashSpool) -> Vec<u64> {
        let mut all = Vec::new();
        let visited = spool.read_backwards(|hashes| {
            all.extend(hashes.map(KeyHash::to_u64));
            Ok(())
        });
        visited.unwrap();
        all
    }

    #[test]
    fn hashes_come_back_across_the_borders_of_chunks() {
        let chunk = CHUNK as u64;
        for (count, step) in [
            (0, 1),
            (1, 1),
            (chunk, chunk),
            (chunk - 1, 7),
            (chunk + 1, 999),
            (3 * chunk + 5, 2 * chunk + 3),
            (4 * chunk, 3),
        ] {
            let mut spool = HashSpool::default();
            let hashes: Vec<_> = (0..count).map(|it| KeyHash::from_u64(it << 40)).collect();
            for hashes in hashes.chunks(step as usize) {
                spool.append(hashes).unwrap();
            }
            assert_eq!(spool.len(), count);
            assert_eq!(spool.file.is_some(), count >= chunk);
            let expected: Vec<_> = (0..count).rev().map(|it| it << 40).collect();
            assert!(backwards(spool) == expected, "{count} in steps of {step}");
        }
    }
}

//! Reading and splitting lines, and nothing else: the least any line tool can do.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read};
use std::path::Path;

use coua::KeyHasher;

const BLOCK: usize = 256 << 10;

/// What is done with each line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Nothing.
    Pass,
    /// XXH3.
    Hash,
}

/// Reads the file in blocks, finds every line, and does this with each; how many there are. A last
/// line without a line break counts.
///
/// # Errors
///
/// Those of the file system.
pub(super) fn split(path: &Path, look: Look) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let hasher = KeyHasher::default();
    let meet = |line: &[u8]| match look {
        Look::Hash => {
            black_box(hasher.hash(line));
        }
        Look::Pass => {
            black_box(line);
        }
    };
    // A line that is cut by the end of a block comes to the front.
    let mut block = vec![0; BLOCK];
    let (mut kept, mut lines) = (0, 0);
    loop {
        if kept == block.len() {
            block.resize(2 * kept, 0);
        }
        let got = file.read(&mut block[kept..])?;
        let end = kept + got;
        if got == 0 {
            if end > 0 {
                meet(&block[..end]);
                lines += 1;
            }
            return Ok(lines);
        }
        let mut start = 0;
        for at in memchr::memchr_iter(b'\n', &block[..end]) {
            meet(&block[start..at]);
            start = at + 1;
            lines += 1;
        }
        block.copy_within(start..end, 0);
        kept = end - start;
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Look, split};

    #[test]
    fn every_line_is_found_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lines");
        let long = "x".repeat(BLOCK + 7);
        let many = "a line\n".repeat(BLOCK / 5);
        for (text, lines) in [
            (String::new(), 0),
            ("\n".into(), 1),
            ("a\n\nb".into(), 3),
            (format!("{long}\n{long}"), 2),
            (many, BLOCK as u64 / 5),
        ] {
            std::fs::write(&path, text).unwrap();
            for look in [Look::Pass, Look::Hash] {
                assert_eq!(split(&path, look).unwrap(), lines);
            }
        }
    }
}

//! Reads frames. The bytes are hostile until checked.

use std::io;
use std::path::Path;

use super::frame::{END_BYTES, HEAD_BYTES, Head};
use super::torn::is_torn;
use super::{Base, Kind, Mark, Source};
use crate::error::{Damage, Reason, StoreError};

/// A file of frames that is being read, up to an offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan<'a> {
    file: &'a dyn Source,
    path: &'a Path,
    base: Base,
    pub(crate) bytes: u64,
}

/// A frame at an offset.
pub(crate) struct Frame {
    pub(crate) kind: Kind,
    pub(crate) begin: Mark,
    pub(crate) end: Mark,
    pub(crate) payload: Vec<u8>,
    /// The checksum of its head.
    pub(crate) head: u64,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(
        file: &'a dyn Source,
        path: &'a Path,
        base: Base,
    ) -> Result<Self, StoreError> {
        let bytes = file.length().map_err(|source| StoreError::io(path, "read", source))?;
        Ok(Self::up_to(bytes, file, path, base))
    }

    /// Reads up to the end of a commit, whatever the length of the file, to which another thread may be appending.
    pub(crate) fn up_to(bytes: u64, file: &'a dyn Source, path: &'a Path, base: Base) -> Self {
        Self { file, path, base, bytes }
    }

    /// Calls `each` with every frame that follows a place. Returns the end of the last one.
    pub(crate) fn frames(
        &self,
        from: Mark,
        mut each: impl FnMut(&Frame) -> Result<(), StoreError>,
    ) -> Result<Mark, StoreError> {
        let mut at = from;
        while at.at < self.bytes {
            // A commit ends where the scan does, so its frames are complete.
            let missing = || self.damaged(at.at, Damage::Checksum);
            let frame = self.frame_at(at)?.ok_or_else(missing)?;
            each(&frame)?;
            at = frame.end;
        }
        Ok(at)
    }

    /// The frame at a place; none at the end of the file, and where an interrupted write begins.
    pub(crate) fn frame_at(&self, begin: Mark) -> Result<Option<Frame>, StoreError> {
        let Mark { at, sequence } = begin;
        let left = self.bytes.saturating_sub(at);
        if left < HEAD_BYTES {
            return Ok(None);
        }
        let head = match Head::decode(&self.read(at, HEAD_BYTES)?) {
            None => return self.unless_damaged(at),
            Some(Err(what)) => return Err(self.damaged(at, what)),
            Some(Ok(head)) => head,
        };
        let expected = self.base.checksum;
        if head.snapshot != expected {
            let what = Damage::Frame { found: head.snapshot, expected };
            return Err(self.damaged(at, what));
        }
        if head.sequence != sequence {
            let what = Damage::Sequence { found: head.sequence, expected: sequence };
            return Err(self.damaged(at, what));
        }
        if head.frame_bytes() > left {
            return Ok(None);
        }
        let mut payload = self.read(at + HEAD_BYTES, head.payload_bytes + END_BYTES)?;
        if !head.is_followed_by(&payload) {
            return self.unless_damaged(at);
        }
        payload.truncate(head.payload_bytes as usize);
        let end = Mark { at: at + head.frame_bytes(), sequence: sequence + 1 };
        Ok(Some(Frame { kind: head.kind, begin, end, payload, head: head.sum }))
    }

    /// None if the bytes at an offset, which are not a frame, are of an interrupted write.
    fn unless_damaged(&self, at: u64) -> Result<Option<Frame>, StoreError> {
        let torn = is_torn(self.file, at, self.bytes).map_err(|source| self.failed(source))?;
        if torn { Ok(None) } else { Err(self.damaged(at, Damage::Checksum)) }
    }

    /// Reads bytes whose length was checked before. If a writer has rolled back since, the missing bytes are zeros.
    fn read(&self, at: u64, length: u64) -> Result<Vec<u8>, StoreError> {
        let mut bytes = vec![0; length as usize];
        self.file.read_at(at, &mut bytes).map_err(|source| self.failed(source))?;
        Ok(bytes)
    }

    fn failed(&self, source: io::Error) -> StoreError {
        StoreError::io(self.path, "read", source)
    }

    pub(crate) fn damaged(&self, offset: u64, what: Damage) -> StoreError {
        Reason::Damaged { offset, what }.at(self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Log, Target};
    use super::*;
    use crate::fs::FileSystem;

    /// A log to which a thread appends: its length is that of a moment ago.
    #[derive(Debug)]
    struct Growing<'a>(&'a [u8]);

    impl Source for Growing<'_> {
        fn length(&self) -> io::Result<u64> {
            Ok(0)
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read_at(offset, buffer)
        }
    }

    #[test]
    fn commits_are_read_while_the_log_grows() {
        let (file, path) = (tempfile::tempfile().unwrap(), Path::new("seen.coua"));
        let mut log = Log::empty(Base { bytes: 0, checksum: 5 });
        for payload in [b"first", b"other"] {
            let to = Target { disk: &FileSystem, file: &file, path };
            log.append(to, Kind::Changes, payload).unwrap();
        }
        let mut bytes = vec![0; log.bytes() as usize];
        file.read_at(0, &mut bytes).unwrap();
        let growing = Growing(&bytes);
        let scan = Scan::up_to(log.written().at, &growing, path, log.base());
        let mut payloads = Vec::new();
        let end = scan.frames(log.base().first(), |frame| {
            payloads.push(frame.payload.clone());
            Ok(())
        });
        assert_eq!(end.unwrap(), log.written());
        assert_eq!(payloads, [b"first", b"other"]);
    }
}

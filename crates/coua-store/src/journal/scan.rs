//! Reading a journal. The bytes are hostile until checked.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::frame::{END_BYTES, HEAD_BYTES};
use super::torn::is_torn;
use super::{HEADER_BYTES, Head, Header, Identity, Kind};
use crate::error::{Damage, StoreError};
use crate::fields::Fields;
use crate::progress::Progress;

/// A journal that is being read.
#[derive(Debug)]
pub(crate) struct Scan<'a> {
    file: &'a File,
    path: &'a Path,
    pub(crate) header: Header,
    bytes: u64,
}

/// What a journal holds.
#[derive(Debug)]
pub(crate) struct Contents {
    /// Where the last commit ends; what follows does not count.
    pub(crate) committed: u64,
    /// The number of the frame that would follow there.
    pub(crate) sequence: u64,
    /// Of the last commit.
    pub(crate) progress: Option<Progress>,
    /// The snapshot that was to replace the journal's, and the progress then.
    pub(crate) turn: Option<(Identity, Progress)>,
}

/// What stands at an offset.
enum Found {
    Frame(Head, Vec<u8>),
    /// The file ends here.
    End,
    /// The file ends within a frame.
    Cut,
    Not(Damage),
}

impl<'a> Scan<'a> {
    /// Reads and checks the header.
    pub(crate) fn begin(mut file: &'a File, path: &'a Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::io(path, "read", source);
        let bytes = file.metadata().map_err(failed)?.len();
        let mut head = Vec::new();
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        file.take(HEADER_BYTES).read_to_end(&mut head).map_err(failed)?;
        let damaged = |what| StoreError::Damaged { path: path.to_owned(), offset: 0, what };
        let header = Header::decode(&head).map_err(damaged)?;
        Ok(Self { file, path, header, bytes })
    }

    /// Checks every frame up to the last one that is whole.
    pub(crate) fn contents(&self) -> Result<Contents, StoreError> {
        let mut contents =
            Contents { committed: HEADER_BYTES, sequence: 0, progress: None, turn: None };
        let (mut at, mut sequence) = (HEADER_BYTES, 0);
        loop {
            let (head, payload) = match self.frame_at(at, sequence)? {
                Found::Frame(head, payload) => (head, payload),
                Found::End | Found::Cut => return Ok(contents),
                Found::Not(what) => {
                    let torn = is_torn(self.file, at, self.bytes);
                    let torn = torn.map_err(|source| self.failed(source))?;
                    return if torn { Ok(contents) } else { Err(self.damaged(at, what)) };
                }
            };
            if contents.turn.is_some() {
                // Nothing is ever written behind a checkpoint.
                let what = Damage::Field { name: "frame after a checkpoint", found: head.sequence };
                return Err(self.damaged(at, what));
            }
            sequence += 1;
            let begin = at;
            at += head.frame_bytes();
            let unreadable =
                || self.damaged(begin, Damage::Field { name: "progress", found: head.sequence });
            match head.kind {
                Kind::Changes => {}
                Kind::Commit => {
                    contents.progress = Some(progress_of(&payload).ok_or_else(unreadable)?);
                    (contents.committed, contents.sequence) = (at, sequence);
                }
                Kind::Checkpoint => {
                    contents.turn = Some(turn_of(&payload).ok_or_else(unreadable)?);
                }
            }
        }
    }

    /// Gives every frame of changes up to `committed` to `apply`, with its offset.
    pub(crate) fn replay(
        &self,
        committed: u64,
        mut apply: impl FnMut(u64, &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (mut at, mut sequence) = (HEADER_BYTES, 0);
        while at < committed {
            match self.frame_at(at, sequence)? {
                Found::Frame(head, payload) => {
                    if head.kind == Kind::Changes {
                        apply(at, &payload)?;
                    }
                    at += head.frame_bytes();
                    sequence += 1;
                }
                // It was there a moment ago.
                Found::End | Found::Cut => return Err(self.damaged(at, Damage::Checksum)),
                Found::Not(what) => return Err(self.damaged(at, what)),
            }
        }
        Ok(())
    }

    fn frame_at(&self, at: u64, sequence: u64) -> Result<Found, StoreError> {
        let left = self.bytes - at;
        if left < HEAD_BYTES {
            return Ok(if left == 0 { Found::End } else { Found::Cut });
        }
        let head_bytes = self.read(at, HEAD_BYTES)?;
        let head = match Head::decode(&head_bytes) {
            None => return Ok(Found::Not(Damage::Checksum)),
            Some(Err(what)) => return Err(self.damaged(at, what)),
            Some(Ok(head)) => head,
        };
        let expected = self.header.snapshot.checksum;
        if head.snapshot != expected {
            let what = Damage::Frame { found: head.snapshot, expected };
            return Err(self.damaged(at, what));
        }
        if head.sequence != sequence {
            let what = Damage::Sequence { found: head.sequence, expected: sequence };
            return Err(self.damaged(at, what));
        }
        if head.frame_bytes() > left {
            return Ok(Found::Cut);
        }
        let mut rest = self.read(at + HEAD_BYTES, head.payload_bytes + END_BYTES)?;
        if head.payload(&rest).is_none() {
            return Ok(Found::Not(Damage::Checksum));
        }
        rest.truncate(head.payload_bytes as usize);
        Ok(Found::Frame(head, rest))
    }

    /// As many bytes as there are; the length was checked before.
    fn read(&self, at: u64, length: u64) -> Result<Vec<u8>, StoreError> {
        let mut input = self.file;
        let mut bytes = vec![0; length as usize];
        let read = input.seek(SeekFrom::Start(at)).and_then(|_| input.read_exact(&mut bytes));
        match read {
            // A writer took back what it had begun.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            result => result.map_err(|source| self.failed(source))?,
        }
        Ok(bytes)
    }

    fn failed(&self, source: io::Error) -> StoreError {
        StoreError::io(self.path, "read", source)
    }

    fn damaged(&self, offset: u64, what: Damage) -> StoreError {
        StoreError::Damaged { path: self.path.to_owned(), offset, what }
    }
}

fn progress_of(payload: &[u8]) -> Option<Progress> {
    let mut fields = Fields::new(payload);
    let progress = Progress::decode(&mut fields)?;
    fields.is_at_end().then_some(progress)
}

fn turn_of(payload: &[u8]) -> Option<(Identity, Progress)> {
    let mut fields = Fields::new(payload);
    let next = Identity { checksum: fields.u64()?, bytes: fields.u64()? };
    let progress = Progress::decode(&mut fields)?;
    fields.is_at_end().then_some((next, progress))
}

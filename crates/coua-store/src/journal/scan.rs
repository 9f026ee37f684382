//! Reading a journal. The bytes are hostile until checked.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::frame::{END_BYTES, HEAD_BYTES};
use super::torn::is_torn;
use super::{HEADER_BYTES, Head, Header, Identity, Kind, Mark};
use crate::damage::Damage;
use crate::error::StoreError;
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
    pub(crate) committed: Mark,
    /// Of the last commit.
    pub(crate) progress: Option<Progress>,
    /// The checkpoint at its end.
    pub(crate) turn: Option<Turn>,
}

/// What a checkpoint says.
#[derive(Debug)]
pub(crate) struct Turn {
    /// The snapshot that was to replace the journal's.
    pub(crate) next: Identity,
    /// From here on that snapshot lacks the changes.
    pub(crate) from: Mark,
    /// Where the checkpoint itself begins.
    pub(crate) to: u64,
    pub(crate) progress: Progress,
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
        let mut contents = Contents { committed: Mark::FIRST, progress: None, turn: None };
        let mut ends = vec![Mark::FIRST];
        let Mark { mut at, mut sequence } = Mark::FIRST;
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
                    contents.committed = Mark { at, sequence };
                    ends.push(contents.committed);
                }
                Kind::Checkpoint => {
                    ends.push(Mark { at: begin, sequence: head.sequence });
                    let (next, from, progress) = self.turn_of(&payload).ok_or_else(unreadable)?;
                    let from = mark_at(&ends, from.unwrap_or(begin));
                    let from = from.map_err(|what| self.damaged(begin, what))?;
                    contents.turn = Some(Turn { next, from, to: begin, progress });
                }
            }
        }
    }

    /// Gives every frame between two places to `each`: its offset, its kind and its payload. Returns
    /// where the last one ends.
    pub(crate) fn frames(
        &self,
        from: Mark,
        to: u64,
        mut each: impl FnMut(u64, Kind, &[u8]) -> Result<(), StoreError>,
    ) -> Result<Mark, StoreError> {
        let Mark { mut at, mut sequence } = from;
        while at < to {
            match self.frame_at(at, sequence)? {
                Found::Frame(head, payload) => {
                    each(at, head.kind, &payload)?;
                    at += head.frame_bytes();
                    sequence += 1;
                }
                // It was there a moment ago.
                Found::End | Found::Cut => return Err(self.damaged(at, Damage::Checksum)),
                Found::Not(what) => return Err(self.damaged(at, what)),
            }
        }
        Ok(Mark { at, sequence })
    }

    /// The snapshot, from where on it lacks the changes if that is said, and the progress.
    fn turn_of(&self, payload: &[u8]) -> Option<(Identity, Option<u64>, Progress)> {
        let mut fields = Fields::new(payload);
        let next = Identity { checksum: fields.u64()?, bytes: fields.u64()? };
        let from = if self.header.has_from() { Some(fields.u64()?) } else { None };
        let progress = Progress::decode(&mut fields)?;
        fields.is_at_end().then_some((next, from, progress))
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

/// The place of these where `from` is.
fn mark_at(places: &[Mark], from: u64) -> Result<Mark, Damage> {
    let found = places.binary_search_by_key(&from, |mark| mark.at);
    found.map(|place| places[place]).map_err(|_| Damage::Field { name: "from", found: from })
}

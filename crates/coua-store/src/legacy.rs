//! The two-file form of earlier versions: a snapshot, and a journal of what was committed after it.
//!
//! `docs/format.md`, section 10, is the normative text. Journals are only read; the first commit
//! appends their changes to the filter's file, and then removes them.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::damage::Damage;
use crate::disk::Disk;
use crate::error::{Reason, StoreError};
use crate::fields::Fields;
use crate::lock::Lock;
use crate::log::{Base, Kind, Mark, Scan};
use crate::place::{Place, path_of, role_of};
use crate::runs::{Run, Runs};

const MAGIC: [u8; 8] = *b"\x8aCOUJ\r\n\x1a";
const NEWEST: u16 = 2;
const HEADER_BYTES: u64 = 64;

/// A journal that belongs to a snapshot.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    pub(crate) path: PathBuf,
    base: Base,
    /// The place of the changes that are not in the snapshot.
    from: Mark,
    to: u64,
    /// The run that it remembers.
    pub(crate) runs: Runs,
    /// The name by which the log that took it over identifies it.
    pub(crate) name: u64,
}

/// A snapshot as the header of a journal names it: its checksum and its length.
type Named = (u64, u64);

/// A commit, if the snapshot that it names came.
struct Checkpoint {
    next: Named,
    /// From here on that snapshot lacks the changes.
    from: u64,
    run: Run,
}

/// The end of a journal.
#[derive(Default)]
struct End {
    run: Option<Run>,
    checkpoint: Option<Checkpoint>,
    /// Where commits and the checkpoint begin and end.
    marks: Vec<Mark>,
    committed: u64,
}

impl Journal {
    /// The journal beside a filter whose log is empty; none if there is none.
    pub(crate) fn beside(filter: &Path, snapshot: Base) -> Result<Option<Self>, StoreError> {
        let Some((file, path, head)) = open(filter)? else { return Ok(None) };
        let damaged = |what| Reason::Damaged { offset: 0, what }.at(&path);
        let (version, named) = decode(&head).map_err(damaged)?;
        let base = Base { bytes: HEADER_BYTES, checksum: named.0 };
        let scan = Scan::new(&file, &path, base)?;
        let end = End::of(&scan, base.first(), version)?;
        let here = (snapshot.checksum, snapshot.bytes);
        let (from, to, run) = match end.checkpoint {
            _ if named == here => (base.first(), end.committed, end.run),
            Some(Checkpoint { next, from, run }) if next == here => {
                let mark = end.marks.iter().find(|mark| mark.at == from);
                let unknown = || scan.damaged(from, Damage::Field { name: "from", found: from });
                // The checkpoint is the last mark.
                let to = end.marks.last().map_or(from, |mark| mark.at);
                (*mark.ok_or_else(unknown)?, to, Some(run))
            }
            _ => return Err(Reason::Foreign.at(&path)),
        };
        let mut runs = Runs::default();
        if let Some(run) = run.filter(|run| !run.places.is_empty()) {
            runs.add(run);
        }
        Ok(Some(Self { file, path, base, from, to, runs, name: xxh3_64(&head) }))
    }

    /// Whether a filter without a snapshot has the journal of one: its changes are nowhere else.
    pub(crate) fn check_absent(filter: &Path) -> Result<(), StoreError> {
        match open(filter)? {
            Some((_, path, _)) => Err(Reason::Orphaned.at(&path)),
            None => Ok(()),
        }
    }

    /// The name of the journal beside a filter, for a log that replaces both.
    pub(crate) fn name_beside(filter: &Path) -> Result<Option<u64>, StoreError> {
        Ok(open(filter)?.map(|(_, _, head)| xxh3_64(&head)))
    }

    fn path_beside(filter: &Path) -> PathBuf {
        let mut name = OsString::from(filter);
        name.push(".journal");
        name.into()
    }

    /// Removes the journal beside a filter, if there is one, for good.
    pub(crate) fn remove_beside(disk: &dyn Disk, lock: &Lock) -> Result<(), StoreError> {
        let path = Self::path_beside(lock.target());
        let removed = if path.exists() { disk.remove(&path) } else { Ok(()) };
        let removed = removed.and_then(|()| disk.sync_folder(lock.folder()));
        removed.map_err(|source| StoreError::io(&path, "remove", source))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.to - self.from.at
    }

    /// Shows the payload of each frame of changes that the snapshot lacks to `each`.
    pub(crate) fn changes(
        &self,
        mut each: impl FnMut(&Path, u64, &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let scan = Scan::new(&self.file, &self.path, self.base)?;
        scan.frames(self.from, self.to, |frame| match frame.kind {
            Kind::Changes => each(&self.path, frame.begin.at, &frame.payload),
            _ => Ok(()),
        })?;
        Ok(())
    }
}

/// The file beside a filter that begins like a journal, and its header.
fn open(filter: &Path) -> Result<Option<(File, PathBuf, Vec<u8>)>, StoreError> {
    let path = Journal::path_beside(filter);
    let failed = |source| StoreError::io(&path, "read", source);
    match fs::metadata(&path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    let mut file = File::open(&path).map_err(failed)?;
    let mut head = Vec::new();
    file.by_ref().take(HEADER_BYTES).read_to_end(&mut head).map_err(failed)?;
    Ok(head.starts_with(&MAGIC).then_some((file, path, head)))
}

fn decode(bytes: &[u8]) -> Result<(u16, Named), Damage> {
    if bytes.len() < HEADER_BYTES as usize {
        return Err(Damage::Checksum);
    }
    let (covered, sum) = bytes.split_at(HEADER_BYTES as usize - 8);
    let mut fields = Fields::new(&covered[8..]);
    let version = fields.u16().unwrap_or(0);
    if version == 0 || version > NEWEST {
        return Err(Damage::Version { found: version });
    }
    if Fields::new(sum).u64() != Some(xxh3_64(covered)) {
        return Err(Damage::Checksum);
    }
    fields.bytes(6);
    let named = fields.u64().zip(fields.u64());
    named.map(|named| (version, named)).ok_or(Damage::Checksum)
}

impl End {
    fn of(scan: &Scan<'_>, first: Mark, version: u16) -> Result<Self, StoreError> {
        let mut end = Self { marks: vec![first], committed: first.at, ..Self::default() };
        scan.contents(|frame| {
            let unreadable = Damage::Field { name: "progress", found: frame.begin.sequence };
            if end.checkpoint.is_some() {
                return Err(Damage::Field {
                    name: "frame after a checkpoint",
                    found: frame.begin.sequence,
                });
            }
            let mut fields = Fields::new(&frame.payload);
            match frame.kind {
                Kind::Changes => return Ok(()),
                Kind::Commit => {
                    let run = run_of(&mut fields).ok_or(unreadable)?;
                    (end.run, end.committed) = (Some(run), frame.end.at);
                    end.marks.push(frame.end);
                }
                Kind::Checkpoint => {
                    let next = fields.u64().zip(fields.u64()).ok_or(unreadable)?;
                    let from = if version > 1 { fields.u64() } else { Some(frame.begin.at) };
                    let from = from.ok_or(unreadable)?;
                    let run = run_of(&mut fields).ok_or(unreadable)?;
                    end.checkpoint = Some(Checkpoint { next, from, run });
                    end.marks.push(frame.begin);
                }
                Kind::Runs | Kind::TakeOver => return Err(unreadable),
            }
            if fields.is_at_end() { Ok(()) } else { Err(unreadable) }
        })?;
        Ok(end)
    }
}

/// The progress of a commit as a run. By the job, the program recognizes that an earlier version wrote it.
fn run_of(fields: &mut Fields<'_>) -> Option<Run> {
    let records = fields.u64()?;
    let length = fields.u32()?;
    let job = fields.bytes(length as usize)?.to_vec();
    let mut places = Vec::new();
    for _ in 0..fields.u32()? {
        let role = role_of(fields.u32()?)?;
        let length = fields.u32()?;
        let path = path_of(fields.bytes(length as usize)?)?;
        // Device and inode, and the size at the time.
        fields.bytes(24)?;
        let (offset, tail) = (fields.u64()?, fields.u64()?);
        places.push(Place { offset, tail, ..Place::start(role, &path) });
    }
    Some(Run { job, records, places, ..Run::default() })
}

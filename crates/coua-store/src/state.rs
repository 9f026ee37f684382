//! From the files to the last committed state.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};

use coua::{Generations, LoadError};

use crate::error::{Damage, StoreError};
use crate::files::{Files, JournalUse};
use crate::journal::{Contents, Identity, Scan};
use crate::lock::inode_of;
use crate::log::{Unrepeatable, repeat};
use crate::open::Options;
use crate::view::{Memory, View, questions};

/// How often a reader begins again because a writer was at work between two looks.
const MOST_TRIES: u32 = 1000;
/// The whole checksum and the end mark of a snapshot (docs/format.md, section 6).
const TRAILER_END: u64 = 16;

/// The last committed state, to go on from.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) view: View,
    pub(crate) file: File,
    pub(crate) snapshot: Identity,
    /// The journal to append to.
    pub(crate) journal: Option<Continued>,
}

/// A journal, where its last commit ends, and the number of the next frame.
pub(crate) type Continued = (File, (u64, u64));

/// A snapshot, and the journal if there is one.
type Opened = (File, Option<File>);

/// What the files say before the filter is brought into memory.
struct Look {
    file: File,
    snapshot: Identity,
    /// The journal, and what it holds.
    journal: Option<(File, Contents)>,
}

impl State {
    /// None if there is no snapshot.
    pub(crate) fn of(
        options: &Options,
        files: &Files,
        journal_use: JournalUse,
    ) -> Result<Option<Self>, StoreError> {
        Self::of_opened(options, files, || {
            let Some(file) = files.open_snapshot()? else { return Ok(None) };
            Ok(Some((file, files.open_journal(journal_use)?)))
        })
    }

    /// From the snapshot and the journal that `open` gives, which may be of two moments.
    fn of_opened(
        options: &Options,
        files: &Files,
        mut open: impl FnMut() -> Result<Option<Opened>, StoreError>,
    ) -> Result<Option<Self>, StoreError> {
        let mut tries = 0;
        loop {
            let Some((file, journal)) = open()? else { return Ok(None) };
            let before = [Some(&file), journal.as_ref()].map(|file| seen(file?.metadata()));
            if journal.is_none() && tries < MOST_TRIES && has_moved(files, before) {
                // Its journal may have been taken into the next snapshot.
                tries += 1;
                continue;
            }
            let look = Look::at(files, file, journal);
            match look.and_then(|look| look.bring_in(options, files)) {
                Err(StoreError::Foreign { .. } | StoreError::Damaged { .. })
                    if tries < MOST_TRIES && has_moved(files, before) =>
                {
                    tries += 1;
                }
                result => return result.map(Some),
            }
        }
    }
}

impl State {
    /// The snapshot that is there, and its journal; neither is brought into memory.
    pub(crate) fn journal_of(files: &Files) -> Result<(Identity, Continued), StoreError> {
        let foreign = || StoreError::Foreign { path: files.journal.clone() };
        let file = files.open_snapshot()?.ok_or_else(foreign)?;
        let journal = files.open_journal(JournalUse::Append)?.ok_or_else(foreign)?;
        let look = Look::at(files, file, Some(journal))?;
        let snapshot = look.snapshot;
        match look.journal {
            // What has done its work is not continued.
            Some((journal, contents)) if contents.turn.is_none() => {
                Ok((snapshot, (journal, (contents.committed, contents.sequence))))
            }
            _ => Err(foreign()),
        }
    }
}

impl Look {
    fn at(files: &Files, file: File, journal: Option<File>) -> Result<Self, StoreError> {
        let unreadable = |source| StoreError::Load { path: files.snapshot.clone(), source };
        let snapshot = identity_of(&file).map_err(unreadable)?;
        let Some(journal) = journal else { return Ok(Self { file, snapshot, journal: None }) };
        let scan = Scan::begin(&journal, &files.journal)?;
        let contents = scan.contents()?;
        let is_turned = contents.turn.as_ref().is_some_and(|(next, _)| *next == snapshot);
        if scan.header.snapshot != snapshot && !is_turned {
            // A damaged snapshot is not itself any more.
            (&file).rewind().map_err(|source| StoreError::io(&files.snapshot, "read", source))?;
            Generations::check_file(&file).map_err(unreadable)?;
            return Err(StoreError::Foreign { path: files.journal.clone() });
        }
        Ok(Self { file, snapshot, journal: Some((journal, contents)) })
    }

    fn bring_in(self, options: &Options, files: &Files) -> Result<State, StoreError> {
        let Self { file, snapshot, journal } = self;
        let unreadable = |source| StoreError::Load { path: files.snapshot.clone(), source };
        let logged = journal.as_ref().map_or(0, |(_, contents)| contents.committed / 8);
        let expected = options.expected.unwrap_or(0);
        let (access, bytes) = (options.access, snapshot.bytes);
        let is_mapped = access.maps(bytes, expected.saturating_add(logged));
        let mut memory = Memory { access, bytes, is_mapped, touched: 0 };
        let mut filter = memory.bring_in(&file, options.key).map_err(unreadable)?;
        let questions = questions(&filter, expected).saturating_add(logged);
        if is_mapped && !access.maps(bytes, questions) {
            // Each generation would be asked.
            memory.is_mapped = false;
            filter = memory.bring_in(&file, options.key).map_err(unreadable)?;
        }
        let view = View { filter, progress: None, memory };
        let mut state = State { view, file, snapshot, journal: None };
        if let Some((journal, contents)) = journal {
            state.take_over(files, journal, contents)?;
        }
        Ok(state)
    }
}

impl State {
    /// Adds what the journal knows.
    fn take_over(
        &mut self,
        files: &Files,
        journal: File,
        contents: Contents,
    ) -> Result<(), StoreError> {
        let scan = Scan::begin(&journal, &files.journal)?;
        if scan.header.snapshot != self.snapshot {
            // The journal has done its work: this snapshot has all of it.
            self.view.progress = contents.turn.map(|(_, progress)| progress);
            return Ok(());
        }
        scan.replay(contents.committed, |offset, changes| {
            let path = || files.journal.clone();
            repeat(&mut self.view.filter, &self.view.memory, changes).map_err(|error| match error {
                Unrepeatable::Full(source) => StoreError::Replay { path: path(), offset, source },
                Unrepeatable::Bytes => {
                    let what = Damage::Field { name: "change", found: offset };
                    StoreError::Damaged { path: path(), offset, what }
                }
            })
        })?;
        self.view.progress = contents.progress;
        self.journal = Some((journal, (contents.committed, contents.sequence)));
        Ok(())
    }
}

/// The whole checksum in the trailer, and the length. Anything, if it is no snapshot.
fn identity_of(mut file: &File) -> Result<Identity, LoadError> {
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(TRAILER_END)))?;
    let mut checksum = [0; 8];
    let mut found = Vec::new();
    file.take(8).read_to_end(&mut found)?;
    for (byte, of_file) in checksum.iter_mut().zip(found) {
        *byte = of_file;
    }
    Ok(Identity { checksum: u64::from_le_bytes(checksum), bytes })
}

/// Bytes and inode of a file; none if there is none.
type Seen = Option<(u64, (u64, u64))>;

fn seen(metadata: io::Result<Metadata>) -> Seen {
    metadata.ok().map(|metadata| (metadata.len(), inode_of(&metadata)))
}

/// Whether a writer has replaced or changed one of the files since.
fn has_moved(files: &Files, before: [Seen; 2]) -> bool {
    [&files.snapshot, &files.journal].map(|path| seen(fs::metadata(path))) != before
}

#[cfg(test)]
mod tests {
    use coua::CuckooFilter;

    use super::*;
    use crate::{Progress, Store};

    /// A reader that has opened the snapshot when a writer replaces it and the journal.
    #[test]
    fn files_of_two_moments_are_looked_at_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.coua");
        let files = Files::of(&path);
        let mut store = Store::create(&path, CuckooFilter::new).unwrap();
        store.commit(&Progress::default()).unwrap();
        let look = || {
            let (file, journal) = (files.open_snapshot(), files.open_journal(JournalUse::Read));
            (file.unwrap().unwrap(), journal.unwrap())
        };
        let seen_of = |(file, journal): &(File, Option<File>)| {
            [Some(file), journal.as_ref()].map(|file| seen(file?.metadata()))
        };
        let old = look();
        let before = seen_of(&old);
        assert!(!has_moved(&files, before));
        store.insert("a").unwrap();
        store.commit_snapshot(&Progress::default()).unwrap();
        assert!(has_moved(&files, before));
        let (_, journal) = look();
        let mixed = Look::at(&files, old.0, journal).map(drop);
        assert!(matches!(mixed, Err(StoreError::Foreign { .. })));
        // An append is noticed as well.
        let before = seen_of(&look());
        store.insert("b").unwrap();
        store.commit(&Progress::default()).unwrap();
        assert!(has_moved(&files, before) && !has_moved(&files, seen_of(&look())));
    }

    /// The snapshot opened first and the journal after a writer was at work: with a new journal, or
    /// with none, for its changes are in the new snapshot.
    #[test]
    fn a_reader_between_two_snapshots_sees_the_last_commit() {
        for has_ended in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("seen.coua");
            let files = Files::of(&path);
            let mut store = Store::create(&path, CuckooFilter::new).unwrap();
            store.commit(&Progress::default()).unwrap();
            store.insert("a").unwrap();
            store.commit(&Progress::default()).unwrap();
            let mut first = Some(files.open_snapshot().unwrap().unwrap());
            store.insert("b").unwrap();
            if has_ended {
                store.finish().unwrap();
                assert!(!files.journal.exists());
            } else {
                store.commit_snapshot(&Progress::default()).unwrap();
            }
            let open = || {
                let snapshot =
                    first.take().map_or_else(|| files.open_snapshot(), |old| Ok(Some(old)));
                Ok(Some((snapshot?.unwrap(), files.open_journal(JournalUse::Read)?)))
            };
            let state = State::of_opened(&Options::new(), &files, open).unwrap().unwrap();
            assert!(state.view.filter.contains("a") && state.view.filter.contains("b"));
        }
    }
}

//! From the files to the last committed state.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use coua::LoadError;
use coua::window::Generations;

use crate::access::Touch;
use crate::damage::Damage;
use crate::error::StoreError;
use crate::files::{Files, JournalUse};
use crate::journal::{self, Contents, Header, Identity, Kind, Mark, Scan, Tail};
use crate::left::{self, Left};
use crate::lock::inode_of;
use crate::log::{Unrepeatable, repeat};
use crate::options::Options;
use crate::progress::Progress;
use crate::view::{Memory, View};

/// How often a reader begins again because a writer was at work between two looks.
const MOST_TRIES: u32 = 1000;

/// The last committed state, to go on from.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) view: View,
    pub(crate) file: File,
    pub(crate) snapshot: Identity,
    pub(crate) rest: Rest,
}

/// What a writer does with the journal that it finds.
#[derive(Debug)]
pub(crate) enum Rest {
    /// There is none, or all of it is in the snapshot.
    Nothing,
    /// Appends to it, from the end of the last commit on.
    Journal(File, Header, Mark),
    /// Has its end to carry into another.
    Tail(Tail),
}

/// A snapshot, and the journal if there is one.
type Opened = (File, Option<File>);

/// What the files say before the filter is brought into memory.
struct Look {
    file: File,
    snapshot: Identity,
    journal: Option<Found>,
}

/// A journal that belongs to a snapshot, and what it holds.
struct Found {
    file: File,
    header: Header,
    contents: Contents,
    /// Its snapshot was replaced by the one that is there.
    is_turned: bool,
}

impl State {
    /// None if there is no snapshot.
    pub(crate) fn of(
        options: &Options,
        files: &Files,
        journal_use: JournalUse,
    ) -> Result<Option<Self>, StoreError> {
        let touch = match journal_use {
            JournalUse::Read => Touch::Ask,
            JournalUse::Append => Touch::Change,
        };
        Self::of_opened(options, files, touch, || {
            let Some(file) = files.open_snapshot()? else { return Ok(None) };
            Ok(Some((file, files.open_journal(journal_use)?)))
        })
    }

    /// From the snapshot and the journal that `open` gives, which may be of two moments.
    fn of_opened(
        options: &Options,
        files: &Files,
        touch: Touch,
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
            match look.and_then(|look| look.bring_in(options, files, touch)) {
                Err(StoreError::Foreign { .. } | StoreError::Damaged { .. })
                    if tries < MOST_TRIES && has_moved(files, before) =>
                {
                    tries += 1;
                }
                result => return result.map(Some),
            }
        }
    }

    /// The snapshot that is there, and its journal; neither is brought into memory.
    pub(crate) fn journal_of(files: &Files) -> Result<(Identity, Rest), StoreError> {
        let foreign = || StoreError::Foreign { path: files.journal.clone() };
        let file = files.open_snapshot()?.ok_or_else(foreign)?;
        let journal = files.open_journal(JournalUse::Append)?.ok_or_else(foreign)?;
        let look = Look::at(files, file, Some(journal))?;
        let rest = look.journal.map(|found| found.rest(&files.journal).1);
        Ok((look.snapshot, rest.unwrap_or(Rest::Nothing)))
    }

    /// Complains about a journal without a snapshot that must not go: the changes that were committed in it
    /// are nowhere else.
    pub(crate) fn check_nothing_lost(files: &Files) -> Result<(), StoreError> {
        if left::at(&files.journal, &journal::MAGIC)? != Left::Begun {
            return Ok(());
        }
        let Some(file) = files.open_journal(JournalUse::Read)? else { return Ok(()) };
        let bytes =
            file.metadata().map_err(|source| StoreError::io(&files.journal, "read", source))?;
        if bytes.len() < Mark::FIRST.at {
            return Ok(());
        }
        let scan = Scan::begin(&file, &files.journal)?;
        let committed = scan.contents()?.committed.at;
        let mut has_changes = false;
        scan.frames(Mark::FIRST, committed, |_, kind, _| {
            has_changes |= kind == Kind::Changes;
            Ok(())
        })?;
        if has_changes && scan.header.snapshot != Identity::default() {
            return Err(StoreError::Orphaned { path: files.journal.clone() });
        }
        Ok(())
    }
}

impl Look {
    fn at(files: &Files, file: File, journal: Option<File>) -> Result<Self, StoreError> {
        let unreadable = |source| StoreError::Load { path: files.snapshot.clone(), source };
        let snapshot = identity_of(&file).map_err(unreadable)?;
        let Some(journal) = journal else { return Ok(Self { file, snapshot, journal: None }) };
        let scan = Scan::begin(&journal, &files.journal)?;
        let (contents, header) = (scan.contents()?, scan.header);
        let is_turned = header.snapshot != snapshot;
        if is_turned && contents.turn.as_ref().is_none_or(|turn| turn.next != snapshot) {
            // A damaged snapshot is not itself any more.
            (&file).rewind().map_err(|source| StoreError::io(&files.snapshot, "read", source))?;
            Generations::verify(&file).map_err(unreadable)?;
            return Err(StoreError::Foreign { path: files.journal.clone() });
        }
        let journal = Some(Found { file: journal, header, contents, is_turned });
        Ok(Self { file, snapshot, journal })
    }

    fn bring_in(self, options: &Options, files: &Files, touch: Touch) -> Result<State, StoreError> {
        let Self { file, snapshot, journal } = self;
        let lacking = journal.as_ref().map(Found::lacking);
        let logged = lacking.map_or(0, |(from, to)| to - from.at);
        let unreadable = |source| StoreError::Load { path: files.snapshot.clone(), source };
        let mut view =
            view_of(options, &file, snapshot.bytes, touch, logged).map_err(unreadable)?;
        let mut rest = Rest::Nothing;
        if let (Some(journal), Some((from, to))) = (journal, lacking) {
            view.uncommitted = journal.uncommitted();
            let scan = Scan::begin(&journal.file, &files.journal)?;
            scan.frames(from, to, |at, kind, payload| apply(&mut view, files, at, kind, payload))?;
            (view.progress, rest) = journal.rest(&files.journal);
        }
        Ok(State { view, file, snapshot, rest })
    }
}

impl Found {
    /// Where the changes stand that are not in the snapshot.
    fn lacking(&self) -> (Mark, u64) {
        match &self.contents.turn {
            Some(turn) if self.is_turned => (turn.from, turn.to),
            _ => (Mark::FIRST, self.contents.committed.at),
        }
    }

    /// Bytes behind the last commit.
    fn uncommitted(&self) -> u64 {
        let bytes = self.file.metadata().map_or(0, |found| found.len());
        if self.is_turned { 0 } else { bytes.saturating_sub(self.contents.committed.at) }
    }

    /// What was committed last, and what is left of it.
    fn rest(self, path: &Path) -> (Option<Progress>, Rest) {
        let Self { file, header, contents, is_turned } = self;
        match contents.turn.filter(|_| is_turned) {
            None => (contents.progress, Rest::Journal(file, header, contents.committed)),
            // This snapshot has all of it.
            Some(turn) if turn.from.at == turn.to => (Some(turn.progress), Rest::Nothing),
            Some(turn) => {
                let (path, from, to) = (path.to_owned(), turn.from, turn.to);
                let progress = turn.progress.clone();
                (Some(turn.progress), Rest::Tail(Tail { file, path, from, to, progress }))
            }
        }
    }
}

/// The filter in a snapshot of so many `bytes`, to be asked or changed, to which `logged` bytes of journal
/// will be added.
pub(crate) fn view_of(
    options: &Options,
    file: &File,
    bytes: u64,
    touch: Touch,
    logged: u64,
) -> Result<View, LoadError> {
    let mut memory = Memory::of(options.access, file, bytes, touch);
    // A change takes eight bytes.
    let filter = memory.bring_in(file, options.key, options.expected.unwrap_or(0), logged / 8)?;
    Ok(View { filter, progress: None, uncommitted: 0, memory })
}

/// Does again what a frame of the journal says.
pub(crate) fn apply(
    view: &mut View,
    files: &Files,
    offset: u64,
    kind: Kind,
    payload: &[u8],
) -> Result<(), StoreError> {
    if kind != Kind::Changes {
        return Ok(());
    }
    let path = || files.journal.clone();
    repeat(&mut view.filter, &view.memory, payload).map_err(|error| match error {
        Unrepeatable::Full(source) => StoreError::Replay { path: path(), offset, source },
        Unrepeatable::Bytes => {
            let what = Damage::Field { name: "change", found: offset };
            StoreError::Damaged { path: path(), offset, what }
        }
    })
}

fn identity_of(mut file: &File) -> Result<Identity, LoadError> {
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(Identity::END as u64)))?;
    let mut end = Vec::new();
    file.take(Identity::END as u64).read_to_end(&mut end)?;
    Ok(Identity::of(&end, bytes))
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
            let state =
                State::of_opened(&Options::new(), &files, Touch::Ask, open).unwrap().unwrap();
            assert!(state.view.filter.contains("a") && state.view.filter.contains("b"));
        }
    }
}

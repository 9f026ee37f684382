//! From the file to the last committed state.

use std::fs::{self, File};
use std::path::Path;

use coua::LoadError;
use coua::window::Generations;

use crate::access::Touch;
use crate::changes::{Unrepeatable, repeat};
use crate::damage::Damage;
use crate::error::{Reason, StoreError};
use crate::lock::is_at;
use crate::log::{Base, Frame, Kind, Log, Members, Scan};
use crate::options::Options;
use crate::runs::Runs;
use crate::view::{Memory, Origin, View};

/// How often a reader starts over because a writer took back what it had begun.
const MOST_TRIES: u32 = 100;

/// The last committed state, to continue from.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) view: View,
    pub(crate) log: Log,
}

impl State {
    /// Of a file that a writer may be changing.
    pub(crate) fn while_written(options: &Options, path: &Path) -> Result<Self, StoreError> {
        let mut tries = 0;
        loop {
            let file = open(path)?;
            let length = || file.metadata().map(|found| found.len()).ok();
            let before = length();
            let state = Self::of(options, &file, path, Touch::Ask);
            // A writer may have taken back what it had begun.
            let is_doubtful =
                matches!(&state, Err(StoreError { reason: Reason::Damaged { .. }, .. }));
            let has_moved = || length() != before || !is_at(&file, path);
            if tries == MOST_TRIES || !is_doubtful || !has_moved() {
                return state;
            }
            tries += 1;
        }
    }

    pub(crate) fn of(
        options: &Options,
        file: &File,
        path: &Path,
        touch: Touch,
    ) -> Result<Self, StoreError> {
        let base = base_of(file, path)?;
        let scan = Scan::new(file, path, base)?;
        let mut committed = Committed::default();
        let contents = scan.contents(|frame| committed.see(frame))?;
        let logged = contents.committed.at - base.bytes;
        let unreadable = |source| Reason::Load(source).at(path);
        let view = view_of(options, file, base.bytes, touch, logged).map_err(unreadable)?;
        let origin = view.memory.is_mapped.then(|| file.try_clone().ok()).flatten();
        let origin = origin.map(|file| Origin { file, path: path.to_owned(), base });
        let mut view = View {
            origin,
            runs: committed.runs,
            snapshot_bytes: base.bytes,
            log_bytes: logged,
            transactions: contents.transactions,
            uncommitted: contents.uncommitted,
            ..view
        };
        scan.frames(base.first(), contents.committed.at, |frame| apply(&mut view, path, frame))?;
        Ok(Self { view, log: Log::resume(base, &contents) })
    }
}

/// What the frames of a log say beside changes. Of the last transaction, if that is not committed, nothing
/// counts.
#[derive(Debug, Default)]
pub(crate) struct Committed {
    pub(crate) runs: Runs,
    run_changes: Vec<Vec<u8>>,
    members: Members,
}

impl Committed {
    /// The next frame.
    pub(crate) fn see(&mut self, frame: &Frame) -> Result<(), Damage> {
        let unreadable = |name| Damage::Field { name, found: frame.begin.sequence };
        match frame.kind {
            Kind::Changes => {}
            Kind::Runs => self.run_changes.push(frame.payload.clone()),
            Kind::Commit if frame.payload != self.members.commit() => {
                return Err(Damage::Checksum);
            }
            Kind::Commit => {
                for changes in self.run_changes.drain(..) {
                    self.runs.repeat(&changes).ok_or(unreadable("runs"))?;
                }
            }
        }
        if frame.kind != Kind::Commit {
            self.members.add(frame.head);
        }
        Ok(())
    }
}

fn open(path: &Path) -> Result<File, StoreError> {
    let failed = |source| StoreError::io(path, "open", source);
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(Reason::NotRegular.at(path)),
        Ok(_) => File::open(path).map_err(failed),
        Err(source) => Err(failed(source)),
    }
}

/// The snapshot with which a file begins.
fn base_of(file: &File, path: &Path) -> Result<Base, StoreError> {
    if file.metadata().is_ok_and(|found| found.len() == 0) {
        return Err(Reason::Blank.at(path));
    }
    let base = Generations::snapshot_bytes(file).and_then(|expected| {
        let found = file.metadata()?.len();
        if found < expected {
            return Err(LoadError::Length { expected, found });
        }
        Ok(Base::of(file, expected)?)
    });
    base.map_err(|error| match error {
        LoadError::Io(source) => StoreError::io(path, "read", source),
        source => Reason::Load(source).at(path),
    })
}

/// The filter in a snapshot of so many `bytes`, to be asked or changed, to which `logged` bytes of log
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
    Ok(View::new(filter, memory))
}

/// Repeats the changes in a frame of the log.
pub(crate) fn apply(view: &mut View, path: &Path, frame: &Frame) -> Result<(), StoreError> {
    match frame.kind {
        Kind::Changes => {}
        _ => return Ok(()),
    }
    let offset = frame.begin.at;
    repeat(&mut view.filter, &view.memory, &frame.payload).map_err(|error| match error {
        Unrepeatable::Full(source) => Reason::Replay { offset, source }.at(path),
        Unrepeatable::Bytes => {
            let what = Damage::Field { name: "change", found: offset };
            Reason::Damaged { offset, what }.at(path)
        }
    })
}

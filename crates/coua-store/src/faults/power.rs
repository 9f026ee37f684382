//! The power cut after every step: what was not synced may be gone, or not, and the state is that of the
//! last commit, or of the one under way.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::held::Held;
use super::{AGING, BACKGROUND, SCRIPT, Script, bytes_of, change, commit, in_memory, options};
use crate::fs::{Disk, FileSystem, Folder, inode_of};
use crate::{Options, Reason, StoreError};

type Inode = (u64, u64);

/// A file system that knows what a power cut would leave.
#[derive(Debug)]
pub(super) struct Volatile {
    folder: PathBuf,
    /// Names that are on the disk, and what has them.
    names: Mutex<BTreeMap<PathBuf, Inode>>,
    /// What of files is on the disk.
    contents: Mutex<BTreeMap<Inode, Vec<u8>>>,
    /// No inode is used twice.
    held: Mutex<Vec<File>>,
    /// What may be found: the filter's bytes after the last commit and after the one under way.
    states: Mutex<[Option<Vec<u8>>; 2]>,
    cuts: Mutex<u64>,
}

impl Volatile {
    pub(super) fn new(folder: &Path) -> Arc<Self> {
        Arc::new(Self {
            folder: folder.to_owned(),
            names: Mutex::default(),
            contents: Mutex::default(),
            held: Mutex::default(),
            states: Mutex::default(),
            cuts: Mutex::default(),
        })
    }

    /// Also what was not made by this.
    pub(super) fn all_is_on_the_disk(&self) {
        let names = self.present();
        for (path, inode) in &names {
            self.held.lock().unwrap().push(File::open(path).unwrap());
            self.contents.lock().unwrap().insert(*inode, fs::read(path).unwrap());
        }
        *self.names.lock().unwrap() = names;
    }

    pub(super) fn may_be(&self, states: [Option<Vec<u8>>; 2]) {
        *self.states.lock().unwrap() = states;
    }

    pub(super) fn cuts(&self) -> u64 {
        *self.cuts.lock().unwrap()
    }

    /// The names at the moment.
    fn present(&self) -> BTreeMap<PathBuf, Inode> {
        let paths = fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().path());
        let inode = |path: &PathBuf| Some(inode_of(&fs::metadata(path).ok()?));
        paths.filter_map(|path| Some((path.clone(), inode(&path)?))).collect()
    }

    /// The names may be those on the disk or those of the moment, and so may the contents.
    pub(super) fn cut_power(&self) {
        let (durable, present) = (self.names.lock().unwrap().clone(), self.present());
        for names in [&durable, &present] {
            for is_written in [false, true] {
                let after = in_memory();
                for (path, inode) in names {
                    let content = if is_written && present.get(path) == Some(inode) {
                        fs::read(path).unwrap()
                    } else {
                        self.contents.lock().unwrap().get(inode).cloned().unwrap_or_default()
                    };
                    fs::write(after.path().join(path.file_name().unwrap()), content).unwrap();
                }
                self.check(&after.path().join("seen.coua"));
            }
        }
        *self.cuts.lock().unwrap() += 1;
    }

    fn check(&self, path: &Path) {
        let found = match Options::new().read(path) {
            Ok(view) => Some(bytes_of(&view.filter)),
            Err(StoreError { reason: Reason::Blank, .. }) => None,
            Err(StoreError { reason: Reason::Io { source, .. }, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                None
            }
            Err(error) => panic!("{error}"),
        };
        assert!(self.states.lock().unwrap().contains(&found), "this was not committed");
        let writer = Options::new().expecting(0).write(path);
        assert!(writer.ok().map(|store| bytes_of(store.filter())) == found, "writers agree");
    }

    fn step<T>(&self, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let result = act();
        self.cut_power();
        result
    }
}

impl Disk for Volatile {
    fn create(&self, target: &Path) -> io::Result<(File, PathBuf)> {
        let (file, path) = FileSystem.create(target)?;
        // A file of its own, which holds no lock.
        self.held.lock().unwrap().push(File::open(&path)?);
        self.step(|| Ok((file, path)))
    }

    fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        self.step(|| FileSystem.write(file, bytes, at))
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        let inode = inode_of(&file.metadata()?);
        let named = self.present().into_iter().find(|(_, named)| *named == inode);
        if let Some((path, _)) = named {
            self.contents.lock().unwrap().insert(inode, fs::read(path)?);
        }
        self.step(|| Ok(()))
    }

    fn truncate(&self, file: &File, length: u64) -> io::Result<()> {
        self.step(|| FileSystem.truncate(file, length))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(|| FileSystem.rename(from, to))
    }

    fn sync_folder(&self, _folder: &Folder) -> io::Result<()> {
        *self.names.lock().unwrap() = self.present();
        self.step(|| Ok(()))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step(|| FileSystem.remove(path))
    }

    fn reserve(&self, file: &File, bytes: u64) -> io::Result<()> {
        self.step(|| FileSystem.reserve(file, bytes))
    }
}

fn play(script: Script) {
    let expected = script.expected();
    let folder = in_memory();
    let path = folder.path().join("seen.coua");
    let disk = Volatile::new(folder.path());
    let may_be = |states: [usize; 2]| disk.may_be(states.map(|round| expected[round].clone()));
    let last = script.rounds as usize;
    // Two are left for an end.
    for round in 1..last - 1 {
        may_be([round - 1, round]);
        let mut store = options(disk.clone()).create(&path, script.make).unwrap();
        change(&mut store, round as u64);
        commit(&mut store, round as u64).unwrap();
        may_be([round, round]);
        disk.cut_power();
    }
    let mut store = options(disk.clone()).write(&path).unwrap();
    may_be([last - 2, last - 1]);
    change(&mut store, last as u64 - 1);
    commit(&mut store, last as u64 - 1).unwrap();
    may_be([last - 1, last]);
    change(&mut store, last as u64);
    store.finish().unwrap();
    may_be([last, last]);
    disk.cut_power();
    assert!(disk.cuts() > 50, "{}", disk.cuts());
}

/// One store for all rounds; the thread works now and then.
#[test]
fn the_power_is_cut_after_every_step_of_background_snapshots() {
    let expected = BACKGROUND.expected();
    let folder = in_memory();
    let path = folder.path().join("seen.coua");
    let (disk, held) = (Volatile::new(folder.path()), Arc::new(Held::default()));
    let may_be = |states: [usize; 2]| disk.may_be(states.map(|round| expected[round].clone()));
    may_be([0, 0]);
    let mut store = BACKGROUND.options(disk.clone(), &held).create(&path, BACKGROUND.make).unwrap();
    for round in 1..expected.len() {
        may_be([round - 1, round]);
        change(&mut store, round as u64);
        commit(&mut store, round as u64).unwrap();
        may_be([round, round]);
        disk.cut_power();
        if round % 2 == 0 {
            held.release();
        }
    }
    assert!(held.done() > 1, "{}", held.done());
    store.finish().unwrap();
    disk.cut_power();
    assert!(disk.cuts() > 80, "{}", disk.cuts());
}

#[test]
fn the_power_is_cut_after_every_step() {
    play(SCRIPT);
}

#[test]
fn the_power_is_cut_after_every_step_of_a_filter_that_forgets() {
    play(AGING);
}

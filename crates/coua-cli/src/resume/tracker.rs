//! How far a run is, now and then.

use crate::message::Failure;
use coua_store::{Place, Role};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Checkpoints take at most one part in so many of the time, unless they are to come all the time: a
/// large filter that changes all over takes seconds to write.
const SHARE: u32 = 10;

/// Says how far a run is.
#[derive(Debug)]
pub(super) struct Tracker {
    every: Duration,
    /// When the last checkpoint began.
    began: Instant,
    /// When it was done.
    last: Instant,
    /// In their order, each with the position up to which it was read.
    inputs: Vec<Place>,
}

impl Tracker {
    pub(super) fn new(inputs: &[PathBuf], every: Duration) -> Result<Self, Failure> {
        let place = |path: &PathBuf| {
            Place::of(Role::Input, path, 0).map_err(|error| Failure::io(path.display(), &error))
        };
        let inputs = inputs.iter().map(place).collect::<Result<_, _>>()?;
        let now = Instant::now();
        Ok(Self { every, began: now, last: now, inputs })
    }

    pub(super) fn is_due(&self) -> bool {
        let rest = if self.every.is_zero() { 0 } else { SHARE - 1 };
        self.last.elapsed()
            >= self.every.max(rest * self.last.saturating_duration_since(self.began))
    }

    /// A checkpoint begins.
    pub(super) fn begin(&mut self) {
        self.began = Instant::now();
    }

    /// It is done.
    pub(super) fn done(&mut self) {
        self.last = Instant::now();
    }

    /// Where the inputs are when so many bytes of each were read, or a little before; or the one that is no
    /// longer there by its name, which nobody can go on with.
    pub(super) fn places(
        &mut self,
        offsets: impl Iterator<Item = u64>,
    ) -> Result<Vec<Place>, PathBuf> {
        for (place, offset) in self.inputs.iter_mut().zip(offsets) {
            if place.offset == offset {
                continue;
            }
            match Place::of(Role::Input, &place.path, offset) {
                Ok(now) if now.inode == place.inode => {
                    // Growth is noticed, but does not make it another file.
                    *place = Place { size: place.size.max(offset), ..now };
                }
                Ok(_) => return Err(place.path.clone()),
                Err(error) if is_gone(&error) => return Err(place.path.clone()),
                // It may be that file still, which whoever goes on will see: up to where it was looked at last.
                Err(_) => {}
            }
        }
        Ok(self.inputs.clone())
    }
}

/// Whether nothing has the name.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

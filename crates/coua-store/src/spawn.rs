//! Who works in the background, and what is said to them.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Who does the work. Tests replace it, to decide when.
pub(crate) trait Spawn: Debug + Send + Sync {
    /// Has the work done by somebody else.
    fn start(&self, work: Work, signals: &Arc<Signals>) -> io::Result<()>;
}

pub(crate) type Work = Box<dyn FnOnce() + Send>;

/// A thread for each work.
#[derive(Debug)]
pub(crate) struct Threads;

impl Spawn for Threads {
    fn start(&self, work: Work, _signals: &Arc<Signals>) -> io::Result<()> {
        thread::Builder::new().name("coua-snapshot".to_owned()).spawn(work).map(drop)
    }
}

/// What the store tells the thread.
#[derive(Debug)]
pub(crate) struct Signals {
    pub(crate) stop: AtomicBool,
    /// Where the last commit ends.
    pub(crate) committed: AtomicU64,
}

impl Signals {
    /// Nobody wants the snapshot any more.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

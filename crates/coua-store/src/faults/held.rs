//! Background work that waits for the test.

use std::io;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::checkpoint::{Signals, Spawn, Work};

/// Work begins when it is released, or stopped.
#[derive(Debug, Default)]
pub(crate) struct Held {
    works: Mutex<Vec<(JoinHandle<()>, Arc<AtomicBool>)>>,
    done: Arc<AtomicUsize>,
}

impl Spawn for Held {
    fn start(&self, work: Work, signals: &Arc<Signals>) -> io::Result<()> {
        let (released, signals) = (Arc::new(AtomicBool::new(false)), signals.clone());
        let (gate, done) = (released.clone(), self.done.clone());
        let waiting = move || {
            while !gate.load(Ordering::SeqCst) && !signals.is_stopped() {
                thread::sleep(Duration::from_micros(50));
            }
            done.fetch_add(usize::from(!signals.is_stopped()), Ordering::SeqCst);
            work();
        };
        self.works.lock().unwrap().push((thread::spawn(waiting), released));
        Ok(())
    }
}

impl Held {
    /// Lets the work be done, and waits for its end. Returns how many there were.
    pub(crate) fn release(&self) -> usize {
        let works = mem::take(&mut *self.works.lock().unwrap());
        let count = works.len();
        for (work, released) in works {
            released.store(true, Ordering::SeqCst);
            work.join().unwrap();
        }
        count
    }

    /// How many tasks were done, and not stopped before they began.
    pub(crate) fn done(&self) -> usize {
        self.done.load(Ordering::SeqCst)
    }

    /// Whether there is work that has not ended.
    pub(crate) fn is_at_work(&self) -> bool {
        self.works.lock().unwrap().iter().any(|(work, _)| !work.is_finished())
    }
}

//! Calls that take long, and end when a signal comes, such as that of Ctrl-C.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pyo3::prelude::*;

/// Between two looks at the signals.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Another thread does the work, while this one looks at the signals. If one ends the call, nobody waits for that
/// thread, and what it makes is dropped: it must change nothing that others see.
pub(crate) fn aside<R: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> R + Send + 'static,
) -> PyResult<R> {
    let (sender, mut receiver) = sync_channel(1);
    let worker = thread::Builder::new().name("coua".to_owned());
    // A call that was ended takes no result.
    let worker = worker.spawn(move || drop(sender.send(work())))?;
    loop {
        let result;
        (result, receiver) = py.detach(move || (receiver.recv_timeout(BETWEEN_LOOKS), receiver));
        match result {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Ok(()) => unreachable!("it sends the result, or panics"),
                Err(panic) => resume_unwind(panic),
            },
        }
    }
}

/// Looks at the signals for work that has let go of the interpreter, and remembers what they raise.
#[derive(Clone, Debug)]
pub(crate) struct Signals(Arc<Mutex<Looks>>);

#[derive(Debug)]
struct Looks {
    next: Instant,
    raised: Option<PyErr>,
}

impl Signals {
    pub(crate) fn new() -> Self {
        let next = Instant::now() + BETWEEN_LOOKS;
        Self(Arc::new(Mutex::new(Looks { next, raised: None })))
    }

    /// Whether one has ended the call.
    pub(crate) fn end_it(&self) -> bool {
        let mut looks = self.0.lock();
        if looks.raised.is_none() && looks.next <= Instant::now() {
            looks.raised = Python::attach(|py| py.check_signals().err());
            looks.next = Instant::now() + BETWEEN_LOOKS;
        }
        looks.raised.is_some()
    }

    /// What the one that has ended the call raised.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.0.lock().raised.take()
    }
}

//! A filter file that another program shortens while it is mapped, or whose disk fails: the next read of such a page
//! raises SIGBUS, which would end the program without a word.

#![expect(unsafe_code, reason = "what a signal handler may do cannot be checked by the compiler")]

use rustix::io::write;
use rustix::stdio::stderr;
use signal_hook::consts::SIGBUS;
use signal_hook::low_level::{exit, register};
use std::path::Path;
use std::sync::Once;

/// The exit code for an error.
const ERROR: i32 = 2;

static REGISTERED: Once = Once::new();

/// From here on the program says so, and ends with an error.
pub(crate) fn explain_shortened(path: &Path) {
    REGISTERED.call_once(|| {
        let message = format!(
            "coua: {}: cannot be read any more: another program has shortened it, or its disk fails; restore it, \
             and run again\n",
            path.display()
        );
        let answer = move || {
            // Nothing else can be done.
            write(stderr(), message.as_bytes()).ok();
            exit(ERROR);
        };
        // SAFETY: the handler writes bytes that were made before and exits at once; both are async-signal-safe, and
        // it neither allocates nor takes a lock.
        let registered = unsafe { register(SIGBUS, answer) };
        // Without it the signal ends the program, as it would have.
        registered.ok();
    });
}

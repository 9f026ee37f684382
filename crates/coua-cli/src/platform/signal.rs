//! What signals ask for.

/// What a signal asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Signal {
    /// To end, by this signal.
    End(i32),
    /// A line about the progress.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has a signal for it"))]
    Report,
}

//! What all commands that read records share.

pub(crate) mod preflight;
pub(crate) mod session;

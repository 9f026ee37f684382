//! What all commands that read records share.

pub(crate) mod session;

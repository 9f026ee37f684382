//! One file per command: its arguments, and its work.

pub(crate) mod add;
pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod convert;
pub(crate) mod count;
pub(crate) mod dedup;
pub(crate) mod explore;
pub(crate) mod generate;
pub(crate) mod info;
pub(crate) mod merge;
pub(crate) mod plan;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod remove;
pub(crate) mod verify;

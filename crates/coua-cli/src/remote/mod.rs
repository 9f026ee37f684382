//! Filters on a server: `--filter valkey://host/name` instead of a file.
//!
//! A filter is one key of the server, or spread over `shards`. An [`address`](Address) leads to `nodes`
//! with a `link` to each, over a `wire` that has limits; the `exchange` brings each `order` there and
//! its reply back, through lost connections, `overtaken` or not; `question` puts questions about keys
//! into commands. `pull` and `push` carry a whole filter, as an `image`. Only `target` uses this, and the commands
//! that carry filters.

mod address;
mod creation;
mod description;
mod exchange;
mod filter;
mod image;
pub(crate) mod info;
mod link;
mod nodes;
mod order;
mod overtaken;
pub(crate) mod pull;
pub(crate) mod push;
mod question;
mod request;
mod shards;
mod wire;

pub(crate) use address::Address;
pub(crate) use description::Description;
pub(crate) use filter::{Asked, Filter};
pub(crate) use question::{ALREADY_THERE, Answer, ChangeLog, FULL, Keys, Question};
pub(crate) use request::{Precision, Request};

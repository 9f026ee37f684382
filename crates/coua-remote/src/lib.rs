//! Coua filters on a server or cluster of Valkey or Redis, with the module coua: asked about many keys at once,
//! created, described, and carried as a whole.
//!
//! A filter is one key of the server, or spread over `shards`. An [`Address`] leads to `nodes` with a `link` to
//! each, over a `wire` that has limits; the `exchange` brings each `order` there and its reply back, through lost
//! connections, `overtaken` or not; `question` puts questions about keys into commands. [`pull`] and [`push`]
//! carry a whole filter, as an `image`.

mod address;
mod creation;
mod description;
mod error;
mod exchange;
mod filter;
mod image;
mod link;
mod nodes;
mod order;
mod overtaken;
mod pull;
mod push;
mod question;
mod shards;
mod wire;

pub use address::Address;
pub use description::Description;
pub use error::{Error, Program};
pub use filter::{Asked, Filter};
pub use pull::pull;
pub use push::push;
pub use question::{ALREADY_THERE, Answer, FULL, Keys, Question};

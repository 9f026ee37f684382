//! What a key holds: a filter of this module, one that was made by the other module, or one of which
//! not all chunks have arrived. The same for both kinds of filters.

mod charge;
mod chunks;
pub(crate) mod creation;
pub(crate) mod dump;
mod filter;
mod given_back;
mod held;
pub(crate) mod image;
mod imported;
pub(crate) mod insertion;
pub(crate) mod outcome;

pub(crate) use charge::Charge;
pub(crate) use creation::{Creates, Defaults};
pub(crate) use filter::{FRONT, Kind, MOST_PARTS, OwnFilter, PART, first_change};
pub(crate) use given_back::give_back;
pub(crate) use held::Value;

//! CF.SCANDUMP and CF.LOADCHUNK.

use std::ffi::CStr;

use super::reserve::limit_of;
use crate::cuckoo::chunks::{Incomplete, Position, chunk_behind};
use crate::cuckoo::{CuckooValue, image};
use crate::parse::integer;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command};

/// `CF.SCANDUMP key position`
pub(super) struct ScanDump;
/// `CF.LOADCHUNK key position chunk`
pub(super) struct LoadChunk;

impl Command for ScanDump {
    const NAME: &'static CStr = c"cf.scandump";
    const ACCESS: Access = Access::ReadAll;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let &[_, _, position] = call.words() else { return Err(Refusal::Arity) };
        let position = integer(position).ok_or(Refusal::Position)?;
        let key = call.key::<CuckooValue>(1)?;
        let value = key.value().ok_or(Refusal::NotFound)?;
        let position = match position {
            0 => None,
            number => Some(Position::decode(number).ok_or(Refusal::Position)?),
        };
        Ok(match chunk_behind(value.own()?, position)? {
            Some((end, chunk)) => Reply::Array(vec![Reply::Integer(end), Reply::Bytes(chunk)]),
            None => Reply::Array(vec![Reply::Integer(0), Reply::Null]),
        })
    }
}

impl Command for LoadChunk {
    const NAME: &'static CStr = c"cf.loadchunk";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let &[_, _, position, chunk] = call.words() else { return Err(Refusal::Arity) };
        let position = integer(position).and_then(Position::decode).ok_or(Refusal::Position)?;
        let mut key = call.key_to_change::<CuckooValue>(1)?;
        let limit = limit_of(call);
        match key.value_mut() {
            None => {
                if !image::is_begun(chunk) {
                    return Err(Refusal::Header);
                }
                let mut incomplete = Incomplete::new();
                let value = match incomplete.take(position, chunk, limit)? {
                    Some(own) => CuckooValue::Own(own),
                    None => CuckooValue::Incomplete(incomplete),
                };
                key.set(value)?;
            }
            Some(value) => {
                let CuckooValue::Incomplete(incomplete) = value else {
                    return Err(Refusal::ItemExists);
                };
                if let Some(own) = incomplete.take(position, chunk, limit)? {
                    *value = CuckooValue::Own(own);
                }
            }
        }
        key.has_changed(c"cuckoo.loadchunk");
        call.replicate_as_called();
        Ok(Reply::Ok)
    }
}

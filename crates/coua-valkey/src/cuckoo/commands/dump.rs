//! CF.SCANDUMP and CF.LOADCHUNK.

use std::ffi::{CStr, c_int};

use crate::cuckoo::value::Cuckoo;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command};
use crate::value::dump;

/// `CF.SCANDUMP key position`
pub(super) struct ScanDump;
/// `CF.LOADCHUNK key position chunk`
pub(super) struct LoadChunk;

impl Command for ScanDump {
    const NAME: &'static CStr = c"cf.scandump";
    const ARITY: c_int = 3;
    const WORDS: &'static CStr = c"key iterator:integer";
    const SUMMARY: &'static CStr = c"Answers the next chunk of a cuckoo filter";
    const ACCESS: Access = Access::ReadAll;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        Ok(match dump::scan::<Cuckoo>(call)? {
            Some((end, chunk)) => Reply::Array(vec![Reply::Integer(end), Reply::Bytes(chunk)]),
            None => Reply::Array(vec![Reply::Integer(0), Reply::Null]),
        })
    }
}

impl Command for LoadChunk {
    const NAME: &'static CStr = c"cf.loadchunk";
    const ARITY: c_int = 4;
    const WORDS: &'static CStr = c"key iterator:integer data";
    const SUMMARY: &'static CStr = c"Loads a chunk of a cuckoo filter";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        dump::load::<Cuckoo>(call)
    }
}

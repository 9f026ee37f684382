//! BF.SCANDUMP and BF.LOADCHUNK.

use std::ffi::{CStr, c_int};

use crate::bloom::value::Bloom;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command};
use crate::value::dump;

/// `BF.SCANDUMP key position`
pub(super) struct ScanDump;
/// `BF.LOADCHUNK key position chunk`
pub(super) struct LoadChunk;

impl Command for ScanDump {
    const NAME: &'static CStr = c"bf.scandump";
    const ARITY: c_int = 3;
    const WORDS: &'static CStr = c"key iterator:integer";
    const SUMMARY: &'static CStr = c"Answers the next chunk of a Bloom filter";
    const ACCESS: Access = Access::ReadAll;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        // Clients expect an empty string at the end here, and nothing at that of CF.SCANDUMP.
        let (end, chunk) = dump::scan::<Bloom>(call)?.unwrap_or_default();
        Ok(Reply::Array(vec![Reply::Integer(end), Reply::Bytes(chunk)]))
    }
}

impl Command for LoadChunk {
    const NAME: &'static CStr = c"bf.loadchunk";
    const ARITY: c_int = 4;
    const WORDS: &'static CStr = c"key iterator:integer data";
    const SUMMARY: &'static CStr = c"Loads a chunk of a Bloom filter";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        dump::load::<Bloom>(call)
    }
}

//! CF.RESERVE.

use std::ffi::{CStr, c_int};

use crate::cuckoo::request::Request;
use crate::cuckoo::value::Cuckoo;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command};
use crate::value::{Creates, creation};

/// `CF.RESERVE key capacity [BUCKETSIZE b] [MAXITERATIONS m] [EXPANSION e]
/// [ERROR rate | HASHBITS h] [SEED s] [WINDOW length | WINDOWITEMS items] [GENERATIONS g]`
pub(super) struct Reserve;

impl Command for Reserve {
    const NAME: &'static CStr = Cuckoo::RESERVE;
    const ARITY: c_int = -3;
    const WORDS: &'static CStr =
        c"key capacity:integer [BUCKETSIZE size:integer] [MAXITERATIONS iterations:integer] \
        [EXPANSION expansion:integer] [ERROR rate:double | HASHBITS bits:integer] [SEED \
        seed] [WINDOW length | WINDOWITEMS items:integer] [GENERATIONS generations:integer]";
    const SUMMARY: &'static CStr = c"Creates an empty cuckoo filter";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let request = Request::of_reserve(call.words().get(2..).ok_or(Refusal::Arity)?)?;
        creation::reserve::<Cuckoo>(call, &request)
    }
}

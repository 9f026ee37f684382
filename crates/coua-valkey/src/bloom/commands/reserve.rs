//! BF.RESERVE.

use std::ffi::{CStr, c_int};

use crate::bloom::request::Request;
use crate::bloom::value::Bloom;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command};
use crate::value::{Creates, creation};

/// `BF.RESERVE key error_rate capacity [EXPANSION e | NONSCALING] [SEED s]`
pub(super) struct Reserve;

impl Command for Reserve {
    const NAME: &'static CStr = Bloom::RESERVE;
    const ARITY: c_int = -4;
    const WORDS: &'static CStr =
        c"key error_rate:double capacity:integer [EXPANSION expansion:integer] [NONSCALING] \
        [SEED seed]";
    const SUMMARY: &'static CStr = c"Creates an empty Bloom filter";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let request = Request::of_reserve(call.words().get(2..).ok_or(Refusal::Arity)?)?;
        creation::reserve::<Bloom>(call, &request)
    }
}

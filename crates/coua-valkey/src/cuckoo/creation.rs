//! How cuckoo filters are created.

use std::ffi::CStr;

use super::clock;
use super::own::OwnCuckoo;
use super::request::Request;
use super::value::{Cuckoo, CuckooValue};
use crate::parse::{Options, Words};
use crate::refusal::Refusal;
use crate::server::{Call, Key};
use crate::value::{Creates, Defaults};

impl Creates for Cuckoo {
    type Request = Request;
    const OPTIONS: &'static [&'static str] = &["CAPACITY", "ERROR", "HASHBITS", "SEED"];
    const RESERVE: &'static CStr = c"cf.reserve";
    const CREATED: &'static CStr = c"cuckoo.reserve";

    fn take(
        request: &mut Request,
        option: &'static str,
        options: &mut Options<'_>,
    ) -> Result<(), Refusal> {
        request.take(option, options)
    }

    fn tell_time(call: &Call<'_>, key: &mut Key<'_, CuckooValue>) {
        clock::tell_time(call, key);
    }

    fn check(request: &Request) -> Result<(), Refusal> {
        request.complete([0; 16]).map(drop)
    }

    fn build(
        request: &Request,
        random: [u8; 16],
        defaults: Defaults,
        _limit: Option<u64>,
    ) -> Result<(OwnCuckoo, Words), Refusal> {
        let blueprint = request.complete_with(random, defaults)?;
        let words = blueprint.words();
        Ok((OwnCuckoo::of(blueprint)?, words))
    }
}

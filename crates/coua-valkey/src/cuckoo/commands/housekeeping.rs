//! CF.COMPACT and CF.INFO.

use std::ffi::{CStr, c_int};

use crate::cuckoo::CuckooValue;
use crate::cuckoo::own::OwnCuckoo;
use crate::peer::PeerCuckoo;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command};

/// `CF.COMPACT key`
pub(super) struct Compact;
/// `CF.INFO key [field]`
pub(super) struct Info;

impl Command for Compact {
    const NAME: &'static CStr = c"cf.compact";
    const ARITY: c_int = 2;
    const SUMMARY: &'static CStr = c"Gives back memory of a cuckoo filter after removals";
    const ACCESS: Access = Access::Rebuild;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        if call.words().len() != 2 {
            return Err(Refusal::Arity);
        }
        let mut key = call.key_to_change::<CuckooValue>(1)?;
        let value = key.value_mut().ok_or(Refusal::NotFound)?;
        if value.compact()? {
            key.has_changed(c"cuckoo.compact");
            call.replicate_as_called();
        }
        Ok(Reply::Ok)
    }
}

impl Command for Info {
    const NAME: &'static CStr = c"cf.info";
    const ARITY: c_int = -2;
    const SUMMARY: &'static CStr = c"Describes a cuckoo filter";
    const ACCESS: Access = Access::Read;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let words = call.words();
        if !(2..=3).contains(&words.len()) {
            return Err(Refusal::Arity);
        }
        let key = call.key::<CuckooValue>(1)?;
        let fields = match key.value().ok_or(Refusal::NotFound)? {
            CuckooValue::Own(own) => fields_of(own),
            CuckooValue::Imported(imported) => fields_of_imported(imported),
            CuckooValue::Incomplete(_) => return Err(Refusal::Incomplete),
        };
        let Some(wanted) = words.get(2) else { return Ok(Reply::Map(fields)) };
        let field =
            fields.into_iter().find(|(name, _)| name.to_bytes().eq_ignore_ascii_case(wanted));
        field.map(|(_, value)| value).ok_or_else(|| Refusal::unknown(wanted))
    }
}

/// The fields of the module that this one stands in for, in its order, and then others.
fn fields_of(own: &OwnCuckoo) -> Vec<(&'static CStr, Reply)> {
    let filter = own.filter();
    let hints = own.hints();
    let number = |number: u32| Reply::Integer(i64::from(number));
    let items = filter.len();
    let per_item = own.memory_bytes() as f64 / items.max(1) as f64;
    vec![
        (c"Size", Reply::count(own.memory_bytes())),
        // As many slots as there are, in buckets of the size that was asked for.
        (c"Number of buckets", Reply::count(filter.slots().div_ceil(u64::from(hints.bucket_size)))),
        (c"Number of filters", Reply::Integer(1)),
        (c"Number of items inserted", Reply::count(items)),
        (c"Number of items deleted", Reply::count(own.deleted())),
        (c"Bucket size", number(hints.bucket_size)),
        (c"Expansion rate", number(hints.expansion)),
        (c"Max iterations", number(hints.max_iterations)),
        (c"Error rate", Reply::Real(filter.false_positive_rate())),
        (c"Hash bits", Reply::Real(filter.hash_bits())),
        (c"Load", Reply::Real(filter.load())),
        (c"Bytes per item", Reply::Real(per_item)),
    ]
}

/// As the other module tells.
fn fields_of_imported(imported: &PeerCuckoo) -> Vec<(&'static CStr, Reply)> {
    let number = |number: u16| Reply::Integer(i64::from(number));
    vec![
        (c"Size", Reply::count(imported.peer_size())),
        (c"Number of buckets", Reply::count(imported.buckets())),
        (c"Number of filters", Reply::Integer(i64::from(imported.sub_filters()))),
        (c"Number of items inserted", Reply::count(imported.items())),
        (c"Number of items deleted", Reply::count(imported.deletes())),
        (c"Bucket size", number(imported.bucket_size())),
        (c"Expansion rate", number(imported.expansion())),
        (c"Max iterations", number(imported.max_iterations())),
    ]
}

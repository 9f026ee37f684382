//! CF.INFO and CF.DEBUG.

use std::ffi::CStr;

use coua::window::Clock;

use super::{CuckooValue, NativeCuckoo};
use crate::error::CommandError;
use crate::redisbloom::PeerCuckoo;
use crate::server::{Call, Reply};
use crate::value::NativeFilter as _;

type Field = (&'static CStr, Reply);

/// Words of BF.INFO for fields that have another name here.
const OTHER_NAMES: [(&str, &str); 3] = [
    ("FILTERS", "Number of filters"),
    ("ITEMS", "Number of items inserted"),
    ("EXPANSION", "Expansion rate"),
];

/// CF.INFO
pub(super) fn info(call: &Call<'_>) -> Result<Reply, CommandError> {
    let words = call.argv();
    if !(2..=3).contains(&words.len()) {
        return Err(CommandError::Arity);
    }
    let key = call.key::<CuckooValue>(1)?;
    let numbers = InfoNumbers::of(key.value().ok_or(CommandError::NotFound)?)?;
    let fields = numbers.fields();
    // Without a word there are the eight fields of the module that this one stands in for: clients
    // fail on any other.
    let Some(&wanted) = words.get(2) else { return Ok(Reply::Map(fields.into())) };
    let mut all = Vec::from(fields);
    all.extend(further_fields(key.value())?);
    if wanted.eq_ignore_ascii_case(b"FULL") {
        return Ok(Reply::Map(all));
    }
    let other = OTHER_NAMES.iter().find(|(word, _)| wanted.eq_ignore_ascii_case(word.as_bytes()));
    let name = other.map_or(wanted, |(_, name)| name.as_bytes());
    let field = all.into_iter().find(|(it, _)| it.to_bytes().eq_ignore_ascii_case(name));
    field.map(|(_, value)| value).ok_or_else(|| CommandError::unknown(wanted))
}

/// CF.DEBUG
pub(super) fn debug(call: &Call<'_>) -> Result<Reply, CommandError> {
    let key = call.key::<CuckooValue>(1)?;
    let it = InfoNumbers::of(key.value().ok_or(CommandError::NotFound)?)?;
    let line = format!(
        "bktsize:{} buckets:{} items:{} deletes:{} filters:{} max_iterations:{} expansion:{}",
        it.bucket_size,
        it.buckets,
        it.items,
        it.deletes,
        it.filters,
        it.max_iterations,
        it.expansion
    );
    Ok(Reply::Bytes(line.into_bytes()))
}

/// What the module that this one stands in for tells about a filter.
struct InfoNumbers {
    size: u64,
    buckets: u64,
    filters: u64,
    items: u64,
    deletes: u64,
    bucket_size: u64,
    expansion: u64,
    max_iterations: u64,
}

impl InfoNumbers {
    fn of(value: &CuckooValue) -> Result<Self, CommandError> {
        match value {
            CuckooValue::Native(native) => Self::of_own(native),
            CuckooValue::Imported(imported) => Ok(Self::of_imported(imported)),
            CuckooValue::Incomplete(_) => Err(CommandError::Incomplete),
        }
    }

    fn of_own(native: &NativeCuckoo) -> Result<Self, CommandError> {
        let (hints, figures) = (native.hints(), native.figures()?);
        let bucket_size = u64::from(hints.bucket_size);
        Ok(Self {
            size: native.memory_bytes(),
            // As many slots as there are, in buckets of the size that was asked for.
            buckets: figures.slots.div_ceil(bucket_size),
            filters: figures.filters,
            items: native.len(),
            deletes: native.deleted(),
            bucket_size,
            expansion: u64::from(hints.expansion),
            max_iterations: u64::from(hints.max_iterations),
        })
    }

    fn of_imported(imported: &PeerCuckoo) -> Self {
        Self {
            size: imported.peer_size(),
            buckets: imported.buckets(),
            filters: u64::from(imported.sub_filters()),
            items: imported.items(),
            deletes: imported.deletes(),
            bucket_size: u64::from(imported.bucket_size()),
            expansion: u64::from(imported.expansion()),
            max_iterations: u64::from(imported.max_iterations()),
        }
    }

    fn fields(&self) -> [Field; 8] {
        [
            (c"Size", self.size),
            (c"Number of buckets", self.buckets),
            (c"Number of filters", self.filters),
            (c"Number of items inserted", self.items),
            (c"Number of items deleted", self.deletes),
            (c"Bucket size", self.bucket_size),
            (c"Expansion rate", self.expansion),
            (c"Max iterations", self.max_iterations),
        ]
        .map(|(name, number)| (name, Reply::count(number)))
    }
}

/// What only filters of this module tell.
fn further_fields(value: Option<&CuckooValue>) -> Result<Vec<Field>, CommandError> {
    let Some(CuckooValue::Native(native)) = value else { return Ok(Vec::new()) };
    let per_item = native.memory_bytes() as f64 / native.len().max(1) as f64;
    let figures = native.figures()?;
    let mut fields = vec![
        (c"Error rate", Reply::Real(figures.rate)),
        (c"Hash bits", Reply::Real(figures.hash_bits)),
        (c"Load", Reply::Real(figures.load)),
        (c"Bytes per item", Reply::Real(per_item)),
    ];
    fields.extend(figures.window.into_iter().flat_map(|(window, clock)| {
        let is_counted = window.clock() == Clock::Count;
        let length = if is_counted { c"Window items" } else { c"Window milliseconds" };
        [
            (length, Reply::count(window.length())),
            (c"Generations", Reply::count(window.generations().into())),
            (c"Clock", Reply::count(clock)),
        ]
    }));
    Ok(fields)
}

//! Keys of a batch.

use std::ffi::c_void;
use std::ops::Range;

use coua::{KeyHash, KeyHasher};

use crate::failure::{Failure, Outcome, out_of_memory};
use crate::pointer::{self, Extent};

/// The memory layout of the keys of a batch.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum coua_key_kind {
    /// data: const void *[count], each key. sizes: size_t[count], their lengths in bytes.
    COUA_KEYS_POINTERS = 0,
    /// data: the bytes of all keys, one after the other. sizes: int32_t[count + 1], the beginning of each key and the
    /// end of the last one, as in Arrow's string arrays.
    COUA_KEYS_OFFSETS_32 = 1,
    /// The same with int64_t, as in Arrow's large string arrays.
    COUA_KEYS_OFFSETS_64 = 2,
    /// data: uint64_t[count]. sizes: NULL.
    COUA_KEYS_U64 = 3,
    /// data: uint64_t[count], hashes from coua_hash(). sizes: NULL.
    COUA_KEYS_HASHES = 4,
}

/// The keys of a batch.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct coua_keys {
    /// A coua_key_kind.
    pub kind: u32,
    /// The number of keys.
    pub count: usize,
    /// The keys, in the layout of the kind.
    pub data: *const c_void,
    /// The bounds of the keys, in the layout of the kind.
    pub sizes: *const c_void,
}

/// Keys that were checked: each can be read.
#[derive(Debug)]
pub(crate) struct Keys<'a> {
    form: Form<'a>,
    extents: Vec<Extent>,
}

#[derive(Debug)]
enum Form<'a> {
    Slices(Vec<&'a [u8]>),
    Offsets32(Joined<'a, i32>),
    Offsets64(Joined<'a, i64>),
    Integers(&'a [u64]),
    Hashes(&'a [KeyHash]),
}

const POINTERS: u32 = coua_key_kind::COUA_KEYS_POINTERS as u32;
const OFFSETS_32: u32 = coua_key_kind::COUA_KEYS_OFFSETS_32 as u32;
const OFFSETS_64: u32 = coua_key_kind::COUA_KEYS_OFFSETS_64 as u32;
const INTEGERS: u32 = coua_key_kind::COUA_KEYS_U64 as u32;
const HASHES: u32 = coua_key_kind::COUA_KEYS_HASHES as u32;

impl Keys<'_> {
    /// The keys that C describes.
    ///
    /// # Safety
    ///
    /// Pointers that are not null are valid for `'a`, with the length that the kind requires, and nothing changes the data.
    pub(crate) unsafe fn of(keys: *const coua_keys) -> Outcome<Self> {
        // SAFETY: the caller's promise.
        let &coua_keys { kind, count, data, sizes } = unsafe { pointer::value(keys, "keys") }?;
        let mut extents = vec![Extent::of(keys, 1, "keys")?];
        let ends = count.checked_add(1).ok_or_else(|| {
            Failure::invalid(format_args!("keys.count is {count}: it does not fit into memory"))
        })?;
        // SAFETY: the caller's promise: `data` and `sizes` fit the kind.
        let form = unsafe {
            match kind {
                POINTERS..=HASHES if count == 0 => Form::Hashes(&[]),
                POINTERS => {
                    let pointers = pointer::values(data.cast::<*const u8>(), count, "keys.data")?;
                    let lengths = pointer::values(sizes.cast::<usize>(), count, "keys.sizes")?;
                    extents.push(Extent::of(data.cast::<*const u8>(), count, "keys.data")?);
                    extents.push(Extent::of(sizes.cast::<usize>(), count, "keys.sizes")?);
                    Form::Slices(slices(pointers, lengths)?)
                }
                OFFSETS_32 => Form::Offsets32(joined(data, sizes.cast(), ends, &mut extents)?),
                OFFSETS_64 => Form::Offsets64(joined(data, sizes.cast(), ends, &mut extents)?),
                INTEGERS | HASHES => {
                    extents.push(Extent::of(data.cast::<u64>(), count, "keys.data")?);
                    if kind == INTEGERS {
                        Form::Integers(pointer::values(data.cast(), count, "keys.data")?)
                    } else {
                        // A hash is its 64 bits.
                        Form::Hashes(pointer::values(data.cast(), count, "keys.data")?)
                    }
                }
                _ => {
                    return Err(Failure::invalid(format_args!(
                        "keys.kind is {kind}; expected 0 to {HASHES}, a coua_key_kind"
                    )));
                }
            }
        };
        Ok(Self { form, extents })
    }

    pub(crate) fn len(&self) -> usize {
        match &self.form {
            Form::Slices(keys) => keys.len(),
            Form::Offsets32(keys) => keys.offsets.len() - 1,
            Form::Offsets64(keys) => keys.offsets.len() - 1,
            Form::Integers(keys) => keys.len(),
            Form::Hashes(hashes) => hashes.len(),
        }
    }

    /// Fails if the answers would be written over the keys.
    pub(crate) fn check_apart_from(&self, answers: &Extent) -> Outcome {
        self.extents.iter().try_for_each(|extent| extent.check_apart(answers))?;
        if let Form::Slices(keys) = &self.form {
            for key in keys {
                Extent::of(key.as_ptr(), key.len(), "a key")?.check_apart(answers)?;
            }
        }
        Ok(())
    }

    /// The hashes of some keys.
    pub(crate) fn hashes<'s>(
        &'s self,
        keys: Range<usize>,
        hasher: KeyHasher,
        space: &'s mut Vec<KeyHash>,
    ) -> &'s [KeyHash] {
        space.clear();
        match &self.form {
            Form::Slices(all) => space.extend(all[keys].iter().map(|key| hasher.hash(*key))),
            Form::Offsets32(all) => space.extend(all.slices(keys).map(|key| hasher.hash(key))),
            Form::Offsets64(all) => space.extend(all.slices(keys).map(|key| hasher.hash(key))),
            Form::Integers(all) => space.extend(all[keys].iter().map(|key| hasher.hash(*key))),
            Form::Hashes(all) => return &all[keys],
        }
        space
    }
}

/// # Safety
///
/// As [`Keys::of`].
unsafe fn slices<'a>(pointers: &[*const u8], lengths: &[usize]) -> Outcome<Vec<&'a [u8]>> {
    let mut keys = Vec::new();
    keys.try_reserve_exact(pointers.len())
        .map_err(|_| out_of_memory(format_args!("{} keys at a time", pointers.len())))?;
    for (place, (&pointer, &length)) in pointers.iter().zip(lengths).enumerate() {
        // SAFETY: the caller's promise.
        let key = unsafe { pointer::values(pointer, length, "the key") };
        keys.push(key.map_err(|failure| failure.at_key(place))?);
    }
    Ok(keys)
}

/// Keys one after the other, and where each begins; the last offset is the end.
#[derive(Debug)]
struct Joined<'a, T> {
    bytes: &'a [u8],
    /// None is negative, and none is smaller than the one before it.
    offsets: &'a [T],
}

impl<'a, T: Copy + Into<i64>> Joined<'a, T> {
    fn slices(&self, keys: Range<usize>) -> impl Iterator<Item = &'a [u8]> {
        let at = |offset: T| offset.into() as usize;
        let (bytes, bounds) = (self.bytes, self.offsets[keys.start..=keys.end].windows(2));
        bounds.map(move |bounds| &bytes[at(bounds[0])..at(bounds[1])])
    }
}

/// # Safety
///
/// As [`Keys::of`].
unsafe fn joined<'a, T: Copy + Into<i64>>(
    data: *const c_void,
    sizes: *const T,
    ends: usize,
    extents: &mut Vec<Extent>,
) -> Outcome<Joined<'a, T>> {
    // SAFETY: the caller's promise.
    let offsets = unsafe { pointer::values(sizes, ends, "keys.sizes") }?;
    extents.push(Extent::of(sizes, ends, "keys.sizes")?);
    let mut last: i64 = 0;
    for (place, &offset) in offsets.iter().enumerate() {
        let offset: i64 = offset.into();
        if offset < last {
            return Err(Failure::invalid(format_args!(
                "keys.sizes[{place}] is {offset}; expected {last} or more, because offsets must not decrease"
            )));
        }
        last = offset;
    }
    let length = usize::try_from(last).map_err(|_| {
        Failure::invalid(format_args!(
            "keys.sizes ends with {last}, which does not fit into memory"
        ))
    })?;
    extents.push(Extent::of(data.cast::<u8>(), length, "keys.data")?);
    // SAFETY: the caller's promise: the last offset is the number of bytes.
    let bytes = unsafe { pointer::values(data.cast(), length, "keys.data") }?;
    Ok(Joined { bytes, offsets })
}

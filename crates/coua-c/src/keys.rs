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
    Offsets32(&'a [u8], &'a [i32]),
    Offsets64(&'a [u8], &'a [i64]),
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
                OFFSETS_32 => {
                    let offsets = pointer::values(sizes.cast::<i32>(), ends, "keys.sizes")?;
                    extents.push(Extent::of(sizes.cast::<i32>(), ends, "keys.sizes")?);
                    Form::Offsets32(joined(data, offsets, &mut extents)?, offsets)
                }
                OFFSETS_64 => {
                    let offsets = pointer::values(sizes.cast::<i64>(), ends, "keys.sizes")?;
                    extents.push(Extent::of(sizes.cast::<i64>(), ends, "keys.sizes")?);
                    Form::Offsets64(joined(data, offsets, &mut extents)?, offsets)
                }
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
            Form::Offsets32(_, ends) => ends.len() - 1,
            Form::Offsets64(_, ends) => ends.len() - 1,
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
            Form::Offsets32(bytes, ends) => {
                // The offsets were checked: none is negative.
                let key = |ends: &[i32]| &bytes[ends[0] as usize..ends[1] as usize];
                space.extend(
                    ends[keys.start..=keys.end].windows(2).map(|ends| hasher.hash(key(ends))),
                );
            }
            Form::Offsets64(bytes, ends) => {
                let key = |ends: &[i64]| &bytes[ends[0] as usize..ends[1] as usize];
                space.extend(
                    ends[keys.start..=keys.end].windows(2).map(|ends| hasher.hash(key(ends))),
                );
            }
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

/// The bytes that the offsets are in.
///
/// # Safety
///
/// As [`Keys::of`].
unsafe fn joined<'a, T: Copy + Into<i64>>(
    data: *const c_void,
    offsets: &[T],
    extents: &mut Vec<Extent>,
) -> Outcome<&'a [u8]> {
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
    unsafe { pointer::values(data.cast(), length, "keys.data") }
}

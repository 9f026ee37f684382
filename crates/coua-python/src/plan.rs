//! `plan`: how much memory a filter takes.

use coua::CuckooFilter;
use pyo3::prelude::*;

use crate::error;
use crate::values::Whole;

/// The size and rate of a filter for a number of items.
#[pyclass(module = "coua", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct Plan {
    /// Items that it is planned for.
    items: u64,
    /// The false positive rate with these items.
    rate: f64,
    /// Bytes of memory.
    memory_bytes: u64,
    /// Bits of memory per item.
    bits_per_item: f64,
    /// Bits of every key's hash that it remembers.
    hash_bits: f64,
}

#[pymethods]
impl Plan {
    fn __repr__(&self) -> String {
        let Self { items, rate, memory_bytes, bits_per_item, hash_bits } = self;
        format!(
            "Plan(items={items}, rate={rate:?}, memory_bytes={memory_bytes}, bits_per_item={bits_per_item:?}, \
             hash_bits={hash_bits:?})"
        )
    }
}

/// How much memory a filter of `items` takes: one of fixed size with a `rate`, or a growing one with
/// `hash_bits` (default 64), created for that number.
///
/// >>> million = plan(1_000_000, 0.001)
/// >>> round(million.memory_bytes / 1e6, 1), round(million.bits_per_item, 1)
/// (1.7, 13.7)
#[pyfunction]
#[pyo3(signature = (items, rate = None, *, hash_bits = None))]
pub(crate) fn plan(
    items: Whole<u64>,
    rate: Option<f64>,
    hash_bits: Option<Whole<u32>>,
) -> PyResult<Plan> {
    let items = items.0;
    let mut builder = CuckooFilter::builder().capacity(items);
    if let Some(rate) = rate {
        builder = builder.rate(rate);
    }
    if let Some(bits) = hash_bits {
        builder = builder.hash_bits(bits.0);
    }
    let plan = builder.plan().map_err(error::build)?;
    Ok(Plan {
        items,
        rate: plan.rate,
        memory_bytes: plan.bytes,
        bits_per_item: plan.bits_per_item(),
        hash_bits: plan.hash_bits,
    })
}

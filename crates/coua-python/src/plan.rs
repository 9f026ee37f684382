//! The numbers of `coua.plan`.

use coua::CuckooFilter;
use pyo3::prelude::*;

use crate::error;
use crate::values::Whole;

/// The rate, the bytes, the bits per item and the hash bits of a filter that is planned.
#[pyfunction]
pub(crate) fn plan(
    items: Whole<u64>,
    rate: Option<f64>,
    hash_bits: Option<Whole<u32>>,
) -> PyResult<(f64, u64, f64, f64)> {
    let mut builder = CuckooFilter::builder().capacity(items.0);
    if let Some(rate) = rate {
        builder = builder.rate(rate);
    }
    if let Some(bits) = hash_bits {
        builder = builder.hash_bits(bits.0);
    }
    let plan = builder.plan().map_err(error::build)?;
    Ok((plan.rate, plan.bytes, plan.bits_per_item(), plan.hash_bits))
}

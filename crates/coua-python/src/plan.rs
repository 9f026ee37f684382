//! The numbers of `coua.plan`.

use coua_store::Requirements;
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
    let wanted = Requirements {
        capacity: Some(items.0),
        rate,
        hash_bits: hash_bits.map(|it| it.0),
        ..Requirements::default()
    };
    let plan = wanted.builder().plan().map_err(error::build)?;
    Ok((plan.rate, plan.bytes, plan.bits_per_item(), plan.hash_bits))
}

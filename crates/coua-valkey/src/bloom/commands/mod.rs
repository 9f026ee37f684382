//! The commands, a file for each thing that is done to a filter.

mod dump;
mod info;
mod insert;
mod look;
mod reserve;

use crate::server::{Family, Loader, NativeType};

use super::value::BloomValue;

/// BF.*
pub(crate) const FAMILY: Family = Family { name: "BF.*", probe: c"bf.reserve", add };

fn add(loader: &Loader) -> Result<(), String> {
    if !loader.value_type::<BloomValue>() {
        let name = <BloomValue as NativeType>::NAME.to_string_lossy();
        return Err(format!("another module has values of type {name}"));
    }
    let category = c"bloom";
    loader.category(category);
    loader.command::<reserve::Reserve>(category)?;
    loader.command::<insert::Add>(category)?;
    loader.command::<insert::AddMany>(category)?;
    loader.command::<insert::Insert>(category)?;
    loader.command::<look::Exists>(category)?;
    loader.command::<look::ExistMany>(category)?;
    loader.command::<info::Cardinality>(category)?;
    loader.command::<info::Info>(category)?;
    loader.command::<info::Debug>(category)?;
    loader.command::<dump::ScanDump>(category)?;
    loader.command::<dump::LoadChunk>(category)
}

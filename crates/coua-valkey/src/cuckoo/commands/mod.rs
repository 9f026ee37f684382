//! The commands, a file for each thing that is done to a filter.

mod advance;
mod compact;
mod dump;
mod info;
mod insert;
mod look;
mod merge;
mod remove;
mod reserve;

use crate::server::{Family, Loader, NativeType};

use super::CuckooValue;

/// CF.*
pub(crate) const FAMILY: Family = Family { name: "CF.*", probe: c"cf.reserve", add };

fn add(loader: &Loader) -> Result<(), String> {
    if !loader.value_type::<CuckooValue>() {
        let name = <CuckooValue as NativeType>::NAME.to_string_lossy();
        return Err(format!("another module has values of type {name}"));
    }
    let category = c"cuckoo";
    loader.category(category);
    loader.command::<reserve::Reserve>(category)?;
    loader.command::<insert::Add>(category)?;
    loader.command::<insert::AddNew>(category)?;
    loader.command::<insert::AddMany>(category)?;
    loader.command::<insert::Insert>(category)?;
    loader.command::<insert::InsertNew>(category)?;
    loader.command::<look::Exists>(category)?;
    loader.command::<look::ExistMany>(category)?;
    loader.command::<look::Count>(category)?;
    loader.command::<look::CountMany>(category)?;
    loader.command::<remove::Delete>(category)?;
    loader.command::<remove::DeleteMany>(category)?;
    loader.command::<dump::ScanDump>(category)?;
    loader.command::<dump::LoadChunk>(category)?;
    loader.command::<merge::Merge>(category)?;
    loader.command::<compact::Compact>(category)?;
    loader.command::<advance::Advance>(category)?;
    loader.command::<info::Info>(category)?;
    loader.command::<info::Debug>(category)
}

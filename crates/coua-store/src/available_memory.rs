//! The memory available for a background snapshot.

use sysinfo::{MemoryRefreshKind, ProcessRefreshKind, ProcessesToUpdate, System, get_current_pid};

/// Bytes available, within the limit of the process's container if it has one; none if unknown.
pub(crate) fn available() -> Option<u64> {
    let mut system = System::new().ok()?;
    system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
    let free = system.available_memory();
    Some(within_group(&mut system).map_or(free, |group| group.min(free)))
}

/// What the control group leaves. Cached pages of files do not count as used, because the system drops them
/// when memory is needed.
fn within_group(system: &mut System) -> Option<u64> {
    let this = get_current_pid().ok()?;
    let only_this = ProcessesToUpdate::Some(&[this]);
    system.refresh_processes_specifics(only_this, false, ProcessRefreshKind::nothing());
    let limits = system.process(this)?.cgroup_limits()?;
    Some(limits.total_memory.saturating_sub(limits.rss))
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    #[test]
    fn there_is_some_memory() {
        let available = super::available().expect("Linux tells");
        assert!(available > 16 << 20, "{available}");
    }
}

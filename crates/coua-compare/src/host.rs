//! Where and when a table was measured, and the memory in use.

use std::fs;

use cap::Cap;
use serde::{Deserialize, Serialize};

/// Counts what the contestants allocate.
#[global_allocator]
static ALLOCATED: Cap<std::alloc::System> = Cap::new(std::alloc::System, usize::MAX);

/// Bytes that the program has allocated and not freed. Mappings are not among them.
pub(crate) fn allocated() -> usize {
    ALLOCATED.allocated()
}

/// Bytes of the process that are in memory; None where the system does not tell.
pub(crate) fn resident() -> Option<u64> {
    status("VmRSS:")
}

/// The most bytes the process has had in memory since [`forget_peak`].
pub(crate) fn peak() -> Option<u64> {
    status("VmHWM:")
}

/// Starts a new count for [`peak`].
pub(crate) fn forget_peak() {
    // Where the system does not offer it, the peak is that since the program's start.
    match fs::write("/proc/self/clear_refs", "5") {
        Ok(()) | Err(_) => {}
    }
}

fn status(field: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

/// The circumstances of a measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Circumstances {
    /// The command that repeats it.
    pub(crate) command: String,
    /// The day, UTC.
    pub(crate) date: String,
    /// Processor, memory, system.
    pub(crate) machine: String,
    /// Processes that ran or waited on average over the minute before the start.
    pub(crate) load: String,
}

impl Circumstances {
    /// Those of now.
    pub(crate) fn now() -> Self {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        Self {
            command: format!("cargo run --release -p coua-compare -- {}", arguments.join(" ")),
            date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
            machine: machine(),
            load: first_word("/proc/loadavg").unwrap_or_else(|| "unknown".into()),
        }
    }

    /// Three lines of Markdown.
    pub(crate) fn markdown(&self) -> String {
        format!(
            "`{}`\n\n{}; {}; load at the start {}.\n",
            self.command, self.date, self.machine, self.load
        )
    }
}

/// The processor as /proc/cpuinfo names it, memory, kernel, and whether huge pages are given.
fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = cpu.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let known = |value: Option<String>| value.unwrap_or_else(|| "unknown".into());
    let memory = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let kibibytes: f64 = text.lines().next()?.split_whitespace().nth(1)?.parse().ok()?;
        Some(format!("{:.0} GiB", kibibytes / f64::from(1 << 20)))
    });
    format!(
        "{} x {} (family {}, model {}, cache {}), {}, Linux {}, huge pages {}",
        std::thread::available_parallelism().map_or(1, usize::from),
        known(field("model name")),
        known(field("cpu family")),
        known(field("model\t")),
        known(field("cache size")),
        known(memory),
        known(first_word("/proc/sys/kernel/osrelease")),
        known(huge_pages()),
    )
}

/// The word in brackets: `always [madvise] never`.
fn huge_pages() -> Option<String> {
    let text = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

fn first_word(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()?.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{Circumstances, allocated, resident};

    #[test]
    fn memory_is_counted() {
        let before = allocated();
        // Never touched, and far more than other tests free meanwhile.
        let block = Vec::<u8>::with_capacity(1 << 30);
        assert!(allocated() - before >= 1 << 29);
        drop(block);
        assert!(resident().is_none_or(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn circumstances_have_a_date_and_a_command() {
        let now = Circumstances::now();
        assert_eq!(now.date.len(), 10);
        assert!(now.markdown().contains("cargo run --release -p coua-compare"));
    }
}

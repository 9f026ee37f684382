//! One program doing its job once.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use wait4::Wait4;

use super::check::Verdict;
use super::place::Place;
use super::tools::{Job, Tool};
use crate::generate::Lines;
use crate::output::Failure;

/// What one run took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Seconds by the clock.
    pub(crate) wall: f64,
    /// Seconds of processor time, all threads, user and system.
    pub(crate) processor: f64,
    /// The most memory it held, in bytes.
    pub(crate) peak: u64,
}

/// Input and output of a job.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    /// The lines.
    pub(crate) input: PathBuf,
    /// Where the result goes.
    pub(crate) output: PathBuf,
}

impl Files {
    fn state(&self) -> PathBuf {
        let mut name = self.output.clone().into_os_string();
        name.push(".state");
        name.into()
    }

    /// Writes as much as the output can have, and removes it: what runs next finds memory that was in use a
    /// moment ago. On a virtual machine other memory comes from the host first, which can take longer than
    /// the work, and whoever came after a large program would pay for it.
    fn warm(&self) -> Result<(), Failure> {
        let copied = fs::copy(&self.input, &self.output);
        self.clear();
        copied.map(drop).map_err(|why| Failure::of(self.output.display(), &why))
    }

    /// Removes what a run has left, before the system spends time on writing it out.
    pub(crate) fn clear(&self) {
        for path in [&self.output, &self.state()] {
            match fs::remove_file(path) {
                // Not every tool makes both; what cannot be removed, the next run overwrites.
                Ok(()) | Err(_) => {}
            }
        }
    }
}

/// Runs the program; the output stays for checking.
///
/// # Errors
///
/// If it cannot be started, or fails.
pub(crate) fn run(
    tool: &Tool,
    program: &Path,
    lines: &Lines,
    files: &Files,
    place: &Place,
) -> Result<Cost, Failure> {
    files.warm()?;
    let told = |why: &dyn std::fmt::Display| Failure::of(tool.name, &why);
    let mut command = Command::new("sh");
    command
        .args(["-c", tool.script])
        .env("TOOL", program)
        .env("IN", &files.input)
        .env("OUT", &files.output)
        .env("LINES", lines.count.to_string())
        .env("SOURCE", tool.source)
        .env("LD_LIBRARY_PATH", place.libraries())
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let (cost, status) = cost(&mut command).map_err(|why| told(&why))?;
    if !status.success() {
        return Err(told(&status));
    }
    Ok(cost)
}

/// Runs a command to its end: what it took, and how it ended.
///
/// # Errors
///
/// If it cannot be started.
pub(crate) fn cost(command: &mut Command) -> io::Result<(Cost, ExitStatus)> {
    let start = Instant::now();
    let used = command.spawn()?.wait4()?;
    let wall = start.elapsed().as_secs_f64();
    let processor = (used.rusage.utime + used.rusage.stime).as_secs_f64();
    Ok((Cost { wall, processor, peak: used.rusage.maxrss }, used.status))
}

/// Checks what a run has left.
///
/// # Errors
///
/// If there is no output.
pub(crate) fn check(tool: &Tool, lines: &Lines, files: &Files) -> Result<Verdict, Failure> {
    let told = |why: &std::io::Error| Failure::of(tool.name, why);
    let output =
        BufReader::with_capacity(1 << 20, File::open(&files.output).map_err(|e| told(&e))?);
    match tool.job {
        Job::Distinct => Verdict::of(lines, output),
        Job::Remember => Verdict::of_all(lines, output),
    }
    .map_err(|why| told(&why))
}

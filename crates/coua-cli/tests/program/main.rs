//! Runs the program as users do, with one module for each kind of problem.

#![expect(clippy::unwrap_used, reason = "in helpers of tests, too, a panic is the message")]

mod ahead;
mod commands;
mod compressed;
mod explore;
#[cfg(target_os = "linux")]
mod faults;
mod filter_files;
mod formats;
mod headers;
mod inputs;
mod json;
mod keys;
mod keys_as_they_come;
mod known;
mod large;
mod memory;
mod messages;
mod moved;
mod needs_awk;
mod no_trace;
mod not_filters;
mod output_dir;
mod outputs;
mod overwritten;
mod packed;
mod permissions;
mod random_commands;
mod random_model;
mod random_records;
mod remembered_keys;
mod resume;
mod shards;
mod signals;
mod streams;
mod support;
#[cfg(target_os = "linux")]
mod terminal;
mod threads;
mod together;
mod two_passes;
mod unpacked;
mod which_copy;
mod windows;
mod wrongly_dropped;

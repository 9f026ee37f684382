//! The threads before the one that answers.

use super::ahead::{Coming, Next};
use super::stages::{More, Source, do_more, hash_only, hash_unhashed, pass_on, prepared};
use super::{Early, Help, Passed, WAITING_BLOCKS};
use crate::key::hashing::Hashing;
use crate::terminal::message::Failure;
use std::sync::mpsc;
use std::thread::{self, Scope, ScopedJoinHandle};

/// Blocks about which the thread that answers finds out beforehand what is to be found out.
pub(super) fn prepared_here<'s>(mut hashed: Next<'s>, early: Early<'s>) -> Next<'s> {
    match early {
        Early::Prepare(prepare) => Box::new(move |wait| match hashed(wait) {
            Coming::Next(passed) => Coming::Next(prepared(passed, prepare)),
            coming => coming,
        }),
        Early::Nothing | Early::Help(_) => hashed,
    }
}

/// A thread that gets blocks before they are asked for.
pub(super) fn ahead<'s>(
    scope: &'s Scope<'s, '_>,
    name: &str,
    next: impl FnMut() -> Option<Passed> + Send + 's,
) -> Result<Next<'s>, Failure> {
    let (full, blocks) = mpsc::sync_channel(WAITING_BLOCKS);
    start(scope, name, move || pass_on(next, [full].iter(), |_| More::No))?;
    Ok(Box::new(move |wait| Coming::from(&blocks, wait)))
}

/// A thread that reads; it hashes a block that would have to wait, the one that answers hashes the others.
pub(super) fn hashed_by_either<'s>(
    scope: &'s Scope<'s, '_>,
    mut source: Source,
    mut hashing: Hashing,
    help: Option<Help<'s>>,
) -> Result<Next<'s>, Failure> {
    let (full, blocks) = mpsc::sync_channel(WAITING_BLOCKS);
    let mut hash_here = hashing.clone();
    let read = move || source.read();
    start(scope, "reader", move || {
        pass_on(read, [full].iter(), |block| do_more(block, &mut hashing, help));
    })?;
    Ok(Box::new(move |wait| {
        let mut coming = Coming::from(&blocks, wait);
        if let Coming::Next(passed) = &mut coming {
            hash_unhashed(passed, &mut hash_here);
        }
        coming
    }))
}

/// A thread that reads, and `workers` that hash what it has read.
pub(super) fn hashed_in_turn<'s>(
    scope: &'s Scope<'s, '_>,
    mut source: Source,
    hashing: &Hashing,
    workers: usize,
    help: Option<Help<'s>>,
) -> Result<Next<'s>, Failure> {
    let (mut to_workers, mut from_workers) = (Vec::new(), Vec::new());
    for _ in 0..workers {
        let (raw, work) = mpsc::sync_channel(WAITING_BLOCKS);
        let (full, blocks) = mpsc::sync_channel(WAITING_BLOCKS);
        let hashing = hashing.clone();
        start(scope, "keys", move || hash_only(hashing, &work, &full, help))?;
        to_workers.push(raw);
        from_workers.push(blocks);
    }
    let mut hashing = hashing.clone();
    let next = move || source.read();
    start(scope, "reader", move || {
        pass_on(next, to_workers.iter(), |block| do_more(block, &mut hashing, None));
    })?;
    let mut turn = 0;
    Ok(Box::new(move |wait| {
        let coming = Coming::from(&from_workers[turn], wait);
        if !matches!(coming, Coming::NotYet) {
            turn = (turn + 1) % from_workers.len();
        }
        coming
    }))
}

/// Starts a thread. If it cannot be had, those before it find nobody to talk to, and end.
pub(super) fn start<'s, T: Send + 's>(
    scope: &'s Scope<'s, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 's,
) -> Result<ScopedJoinHandle<'s, T>, Failure> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, work);
    thread.map_err(|error| Failure::io("threads", &error))
}

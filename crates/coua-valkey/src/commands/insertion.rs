//! The common part of all commands that add items: create the filter if needed, fill it, and replicate the inserted
//! items.

use std::sync::atomic::Ordering::Relaxed;

use super::clock::advance_clock;
use super::creation::{CREATED, create};
use crate::cuckoo::{CuckooRequest, Outcome};
use crate::error::CommandError;
use crate::parse::{Options, once};
use crate::server::{Call, Key, Reply, VALUES, Word, command_name};
use crate::settings::{GROWTHS, INSERTED, REFUSED, key_memory_limit_of, limits_of};
use crate::value::Value;
use coua::IfPresent;

/// The words of a command that stand before its items or options.
const KNOWN: [&str; 6] = ["ITEMS", "NOCREATE", "CAPACITY", "ERROR", "HASHBITS", "SEED"];

/// Items to be added.
pub(super) struct Insertion {
    /// The number of the word that is the first item.
    first: usize,
    /// The request for a new filter.
    request: CuckooRequest,
    /// Whether a missing filter is created.
    creates: bool,
}

impl Insertion {
    /// The insertion of a command with items after its key.
    pub(super) fn of_items() -> Self {
        Self { first: 2, request: CuckooRequest::default(), creates: true }
    }

    /// The insertion of a command with options after its key, and items after the word ITEMS. Refuses contradictory
    /// options even if the filter exists, except in replicated commands, which a server with other settings accepted.
    pub(super) fn of_options(call: &Call<'_>) -> Result<Self, CommandError> {
        let insertion = Self::of_words(call.argv())?;
        if !call.is_replicated() {
            insertion.request.complete([0; 16])?;
        }
        Ok(insertion)
    }

    fn of_words(words: &[&[u8]]) -> Result<Self, CommandError> {
        let mut options = Options::new(words.get(2..).ok_or(CommandError::Arity)?);
        let mut request = CuckooRequest::default();
        let mut no_create = None;
        loop {
            match options.keyword(&KNOWN)?.ok_or(CommandError::Arity)? {
                "ITEMS" => break,
                "NOCREATE" => once(&mut no_create, "NOCREATE", ())?,
                option => request.take(option, &mut options)?,
            }
        }
        if options.rest().is_empty() {
            return Err(CommandError::Arity);
        }
        let first = words.len() - options.rest().len();
        Ok(Self { first, request, creates: no_create.is_none() })
    }

    /// Adds the items, and returns an outcome for each.
    pub(super) fn add_all(
        self,
        call: &Call<'_>,
        if_present: IfPresent,
    ) -> Result<Vec<Outcome>, CommandError> {
        let items = &call.argv()[self.first..];
        self.run(call, if_present, |value, limit| {
            value.insert(items, if_present, limit, || limits_of(call, limit))
        })
    }

    /// Runs the command: `insert` fills the value and returns an outcome for each item.
    fn run<T: AsRef<[Outcome]> + AsMut<[Outcome]>>(
        self,
        call: &Call<'_>,
        if_present: IfPresent,
        insert: impl FnOnce(&mut Value, Option<u64>) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let mut key = call.key_to_change::<Value>(1)?;
        let is_new = key.value().is_none();
        if is_new {
            let request = Some(&self.request).filter(|_| self.creates);
            create(call, &mut key, request.ok_or(CommandError::NotFound)?)?;
        }
        // Both sums are taken before the clock advances, which may free memory.
        let room = MemoryRoom::of(call, &mut key, call.count() - self.first);
        advance_clock(call, &mut key);
        let value = key.value_mut().ok_or(CommandError::Defect)?;
        let (pieces, exceeded) = (value.pieces(), value.exceeds_rate());
        let mut outcomes = insert(value, room.limit)?;
        room.attribute(outcomes.as_mut());
        if value.pieces() > pieces {
            GROWTHS.fetch_add(1, Relaxed);
        }
        if !exceeded && value.exceeds_rate() {
            warn_of_rate(call, value);
        }
        let inserted = self.replicate(call, outcomes.as_ref(), if_present);
        INSERTED.fetch_add(inserted as u64, Relaxed);
        let refused =
            outcomes.as_ref().iter().filter(|it| matches!(it, Outcome::Refused(_))).count();
        REFUSED.fetch_add(refused as u64, Relaxed);
        if inserted > 0 {
            key.notify_changed(c"cuckoo.add");
        } else if is_new {
            key.notify_changed(CREATED);
        }
        Ok(outcomes)
    }

    /// Replicates only the items that were inserted: with more memory, a replica might accept others.
    /// Returns their number.
    fn replicate(&self, call: &Call<'_>, outcomes: &[Outcome], if_present: IfPresent) -> usize {
        let inserted = outcomes.iter().filter(|it| it.is_in()).count();
        if inserted == outcomes.len() {
            call.replicate_as_called();
        } else if inserted > 0 {
            let command = match if_present {
                IfPresent::AddCopy => command_name!("insert"),
                IfPresent::Skip => command_name!("insertnx"),
            };
            let begin = [Word::Same(1), Word::Text(b"NOCREATE"), Word::Text(b"ITEMS")];
            let new = (self.first..).zip(outcomes).filter(|(_, it)| it.is_in());
            let new = new.map(|(number, _)| Word::Same(number));
            call.replicate(command, begin.into_iter().chain(new));
        }
        inserted
    }
}

/// Writes a line to the log: the command has brought the filter beyond its rate.
pub(super) fn warn_of_rate(call: &Call<'_>, value: &Value) {
    let rate = value.rate();
    call.warn(&format!("has so many items that its error rate rises: it is {rate:.2e} now"));
}

/// Memory that a key may take in a call.
struct MemoryRoom {
    limit: Option<u64>,
    /// Whether the server's free memory is the limit.
    is_of_server: bool,
}

impl MemoryRoom {
    fn of(call: &Call<'_>, key: &mut Key<'_, Value>, items: usize) -> Self {
        let of_key = key_memory_limit_of(call);
        let left = VALUES.memory_left(call, items);
        let of_server = left.map(|left| left.saturating_add(key.bytes_before() as u64));
        let is_of_server = of_server.is_some_and(|bytes| of_key.is_none_or(|limit| bytes < limit));
        Self { limit: if is_of_server { of_server } else { of_key }, is_of_server }
    }

    /// Corrects the errors of items for which the server had no memory, if the limit of the key was not the cause.
    fn attribute(&self, outcomes: &mut [Outcome]) {
        if self.is_of_server {
            let refused =
                |it: &&mut Outcome| matches!(it, Outcome::Refused(CommandError::KeyMemory { .. }));
            outcomes.iter_mut().filter(refused).for_each(|outcome| {
                *outcome = Outcome::Refused(CommandError::ServerMemory);
                VALUES.ask_again();
            });
        }
    }
}

/// Runs a command that adds one item. The reply is whether it was absent.
pub(super) fn add_item(call: &Call<'_>, if_present: IfPresent) -> Result<Reply, CommandError> {
    let item = call.item()?;
    let insert = |value: &mut Value, limit| {
        Ok([value.insert_one(item, if_present, limit, || limits_of(call, limit))?])
    };
    let [outcome] = Insertion::of_items().run(call, if_present, insert)?;
    match outcome {
        Outcome::Inserted => Ok(Reply::Truth(true)),
        Outcome::Present => Ok(Reply::Truth(false)),
        Outcome::Refused(refusal) => Err(refusal),
    }
}

/// The replies of a command on many items, one per outcome.
pub(super) fn reply_each(outcomes: Vec<Outcome>, reply: impl Fn(Outcome) -> Reply) -> Reply {
    Reply::Array(outcomes.into_iter().map(reply).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Insertion, CommandError> {
        let words: Vec<&[u8]> = text.split(' ').map(str::as_bytes).collect();
        Insertion::of_words(&words)
    }

    #[test]
    fn items_begin_behind_the_first_items_and_may_be_keywords() {
        let insertion = of("CF.INSERT key CAPACITY 100 ITEMS ITEMS NOCREATE x").unwrap();
        assert_eq!(insertion.first, 5);
        assert!(insertion.creates);
        assert!(!of("CF.INSERT key nocreate items x").unwrap().creates);
    }

    #[test]
    fn an_insert_without_items_is_refused() {
        for text in
            ["CF.INSERT key", "CF.INSERT key ITEMS", "CF.INSERT key CAPACITY 5", "CF.INSERT"]
        {
            assert_eq!(of(text).err(), Some(CommandError::Arity), "{text}");
        }
        assert_eq!(of("CF.INSERT key x ITEMS y").err(), Some(CommandError::unknown(b"x")));
    }
}

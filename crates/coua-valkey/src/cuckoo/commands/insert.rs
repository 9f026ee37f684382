//! CF.ADD, CF.ADDNX, CF.MADD, CF.INSERT, CF.INSERTNX.

use std::ffi::{CStr, c_int};

use super::reserve::create;
use crate::cuckoo::CuckooValue;
use crate::cuckoo::own::{Copies, Outcome};
use crate::cuckoo::request::Request;
use crate::parse::{Options, once};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command, Word};

/// `CF.ADD key item`
pub(super) struct Add;
/// `CF.ADDNX key item`
pub(super) struct AddNew;
/// `CF.MADD key item [item ...]`
pub(super) struct AddMany;
/// `CF.INSERT key [CAPACITY c] [ERROR rate | HASHBITS h] [SEED s] [NOCREATE] ITEMS item [item ...]`
pub(super) struct Insert;
/// `CF.INSERTNX key [CAPACITY c] [ERROR rate | HASHBITS h] [SEED s] [NOCREATE] ITEMS item [item ...]`
pub(super) struct InsertNew;

impl Command for Add {
    const NAME: &'static CStr = c"cf.add";
    const ARITY: c_int = 3;
    const SUMMARY: &'static CStr = c"Adds an item to a cuckoo filter, once more if it is there";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        one(call, Copies::Add)
    }
}

impl Command for AddNew {
    const NAME: &'static CStr = c"cf.addnx";
    const ARITY: c_int = 3;
    const SUMMARY: &'static CStr = c"Adds an item to a cuckoo filter unless it is there";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        one(call, Copies::Keep)
    }
}

impl Command for AddMany {
    const NAME: &'static CStr = c"cf.madd";
    const ARITY: c_int = -3;
    const SUMMARY: &'static CStr = c"Adds items to a cuckoo filter";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        if call.words().len() < 3 {
            return Err(Refusal::Arity);
        }
        let insertion =
            Insertion { copies: Copies::Add, first: 2, creation: Some(Request::default()) };
        insertion.run(call).map(accepted)
    }
}

impl Command for Insert {
    const NAME: &'static CStr = c"cf.insert";
    const ARITY: c_int = -4;
    const SUMMARY: &'static CStr = c"Adds items to a cuckoo filter, and says how it is created";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        Insertion::of_words(call.words(), Copies::Add)?.run(call).map(accepted)
    }
}

impl Command for InsertNew {
    const NAME: &'static CStr = c"cf.insertnx";
    const ARITY: c_int = -4;
    const SUMMARY: &'static CStr =
        c"Adds items that are absent to a cuckoo filter, and says how it is created";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let outcomes = Insertion::of_words(call.words(), Copies::Keep)?.run(call)?;
        let number = |outcome| match outcome {
            Outcome::Inserted => Reply::Integer(1),
            Outcome::Present => Reply::Integer(0),
            Outcome::Refused(Refusal::Full | Refusal::MaximumExpansions) => Reply::Integer(-1),
            Outcome::Refused(refusal) => Reply::Refused(refusal),
        };
        Ok(Reply::Array(outcomes.into_iter().map(number).collect()))
    }
}

fn one(call: &Call<'_>, copies: Copies) -> Result<Reply, Refusal> {
    if call.words().len() != 3 {
        return Err(Refusal::Arity);
    }
    let insertion = Insertion { copies, first: 2, creation: Some(Request::default()) };
    match insertion.run(call)?.pop() {
        Some(Outcome::Inserted) => Ok(Reply::Truth(true)),
        Some(Outcome::Present) => Ok(Reply::Truth(false)),
        Some(Outcome::Refused(refusal)) => Err(refusal),
        None => Err(Refusal::Defect),
    }
}

fn accepted(outcomes: Vec<Outcome>) -> Reply {
    let accepted = |outcome| match outcome {
        Outcome::Inserted | Outcome::Present => Reply::Accepted(true),
        Outcome::Refused(Refusal::Full | Refusal::MaximumExpansions) => Reply::Accepted(false),
        Outcome::Refused(refusal) => Reply::Refused(refusal),
    };
    Reply::Array(outcomes.into_iter().map(accepted).collect())
}

/// What all of these commands do.
struct Insertion {
    copies: Copies,
    /// Which word is the first item.
    first: usize,
    /// How the filter is created if it is missing.
    creation: Option<Request>,
}

impl Insertion {
    /// Of CF.INSERT and CF.INSERTNX.
    fn of_words(words: &[&[u8]], copies: Copies) -> Result<Self, Refusal> {
        const KNOWN: [&str; 6] = ["CAPACITY", "NOCREATE", "ITEMS", "ERROR", "HASHBITS", "SEED"];
        let mut options = Options::new(words.get(2..).ok_or(Refusal::Arity)?);
        let mut request = Request::default();
        let mut no_create = None;
        loop {
            match options.keyword(&KNOWN)?.ok_or(Refusal::Arity)? {
                "ITEMS" => break,
                "NOCREATE" => once(&mut no_create, "NOCREATE", ())?,
                option => request.take(option, &mut options)?,
            }
        }
        if options.rest().is_empty() {
            return Err(Refusal::Arity);
        }
        let creation = if no_create.is_some() { None } else { Some(request) };
        Ok(Self { copies, first: words.len() - options.rest().len(), creation })
    }

    fn run(&self, call: &Call<'_>) -> Result<Vec<Outcome>, Refusal> {
        let mut key = call.key_to_change::<CuckooValue>(1)?;
        let is_new = key.value().is_none();
        if is_new {
            create(call, &mut key, self.creation.as_ref().ok_or(Refusal::NotFound)?)?;
        }
        let value = key.value_mut().ok_or(Refusal::Defect)?;
        let items = &call.words()[self.first..];
        let outcomes =
            value.insert(items, self.copies, (call.key_memory_limit(), || call.limits()))?;
        let inserted = self.replicate(call, &outcomes);
        if inserted > 0 {
            key.has_changed(c"cuckoo.add");
        } else if is_new {
            key.has_changed(c"cuckoo.reserve");
        }
        Ok(outcomes)
    }

    /// Sends the items that are in now, and only those: where memory is not the same, others might
    /// find room. Returns how many there are.
    fn replicate(&self, call: &Call<'_>, outcomes: &[Outcome]) -> usize {
        let inserted = outcomes.iter().filter(|&outcome| *outcome == Outcome::Inserted).count();
        if inserted == 0 {
            return 0;
        }
        if inserted == outcomes.len() {
            call.replicate_as_called();
            return inserted;
        }
        let mut words = vec![Word::Same(1), Word::Text("NOCREATE"), Word::Text("ITEMS")];
        words.extend(
            (self.first..)
                .zip(outcomes)
                .filter(|(_, outcome)| **outcome == Outcome::Inserted)
                .map(|(number, _)| Word::Same(number)),
        );
        let command = if self.copies == Copies::Add { Insert::NAME } else { InsertNew::NAME };
        call.replicate(command, &words);
        inserted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Insertion, Refusal> {
        let words: Vec<&[u8]> = text.split(' ').map(str::as_bytes).collect();
        Insertion::of_words(&words, Copies::Add)
    }

    #[test]
    fn items_begin_behind_the_first_items_and_may_be_keywords() {
        let insertion = of("CF.INSERT key CAPACITY 100 ITEMS ITEMS NOCREATE x").unwrap();
        assert_eq!(insertion.first, 5);
        assert!(insertion.creation.is_some());
        assert!(of("CF.INSERT key nocreate items x").unwrap().creation.is_none());
    }

    #[test]
    fn an_insert_without_items_is_refused() {
        for text in
            ["CF.INSERT key", "CF.INSERT key ITEMS", "CF.INSERT key CAPACITY 5", "CF.INSERT"]
        {
            assert_eq!(of(text).err(), Some(Refusal::Arity), "{text}");
        }
        assert_eq!(of("CF.INSERT key x ITEMS y").err(), Some(Refusal::unknown(b"x")));
    }
}

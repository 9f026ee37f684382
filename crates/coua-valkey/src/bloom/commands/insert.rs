//! BF.ADD, BF.MADD, BF.INSERT.

use std::ffi::{CStr, c_int};

use super::reserve::create;
use crate::bloom::chain::Outcome;
use crate::bloom::request::Request;
use crate::bloom::value::BloomValue;
use crate::parse::{Options, once};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command, Word};

/// `BF.ADD key item`
pub(super) struct Add;
/// `BF.MADD key item [item ...]`
pub(super) struct AddMany;
/// `BF.INSERT key [CAPACITY c] [ERROR r] [EXPANSION e] [NOCREATE] [NONSCALING] [VALIDATESCALETO n]
/// [SEED s] ITEMS item [item ...]`
pub(super) struct Insert;

impl Command for Add {
    const NAME: &'static CStr = c"bf.add";
    const ARITY: c_int = 3;
    const SUMMARY: &'static CStr = c"Adds an item to a Bloom filter";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        if call.words().len() != 3 {
            return Err(Refusal::Arity);
        }
        let insertion = Insertion { first: 2, creation: Some(Request::default()) };
        match insertion.run(call)?.pop() {
            Some(Outcome::Inserted) => Ok(Reply::Truth(true)),
            Some(Outcome::Present) => Ok(Reply::Truth(false)),
            Some(Outcome::Refused(refusal)) => Err(refusal),
            None => Err(Refusal::Defect),
        }
    }
}

impl Command for AddMany {
    const NAME: &'static CStr = c"bf.madd";
    const ARITY: c_int = -3;
    const SUMMARY: &'static CStr = c"Adds items to a Bloom filter";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        if call.words().len() < 3 {
            return Err(Refusal::Arity);
        }
        Insertion { first: 2, creation: Some(Request::default()) }.run(call).map(truths)
    }
}

impl Command for Insert {
    const NAME: &'static CStr = c"bf.insert";
    const ARITY: c_int = -4;
    const SUMMARY: &'static CStr = c"Adds items to a Bloom filter, and says how it is created";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        Insertion::of_words(call.words())?.run(call).map(truths)
    }
}

fn truths(outcomes: Vec<Outcome>) -> Reply {
    let truth = |outcome| match outcome {
        Outcome::Inserted => Reply::Truth(true),
        Outcome::Present => Reply::Truth(false),
        Outcome::Refused(refusal) => Reply::Refused(refusal),
    };
    Reply::Array(outcomes.into_iter().map(truth).collect())
}

/// What all of these commands do.
struct Insertion {
    /// Which word is the first item.
    first: usize,
    /// How the filter is created if it is missing.
    creation: Option<Request>,
}

impl Insertion {
    /// Of BF.INSERT.
    fn of_words(words: &[&[u8]]) -> Result<Self, Refusal> {
        const KNOWN: [&str; 8] = [
            "CAPACITY",
            "ERROR",
            "EXPANSION",
            "NOCREATE",
            "NONSCALING",
            "VALIDATESCALETO",
            "SEED",
            "ITEMS",
        ];
        let mut options = Options::new(words.get(2..).ok_or(Refusal::Arity)?);
        let mut request = Request::default();
        let mut no_create = None;
        loop {
            match options.keyword(&KNOWN)?.ok_or(Refusal::Arity)? {
                "ITEMS" => break,
                "NOCREATE" => once(&mut no_create, "NOCREATE", ())?,
                option => {
                    request.take(option, &mut options).map_err(Refusal::in_words_of_insert)?;
                }
            }
        }
        if options.rest().is_empty() {
            return Err(Refusal::Arity);
        }
        // What contradicts itself is refused also if the filter is there.
        request.complete([0; 16])?;
        let creation = if no_create.is_some() { None } else { Some(request) };
        Ok(Self { first: words.len() - options.rest().len(), creation })
    }

    fn run(&self, call: &Call<'_>) -> Result<Vec<Outcome>, Refusal> {
        let mut key = call.key_to_change::<BloomValue>(1)?;
        let is_new = key.value().is_none();
        if is_new {
            create(call, &mut key, self.creation.as_ref().ok_or(Refusal::NotFound)?)?;
        }
        let value = key.value_mut().ok_or(Refusal::Defect)?;
        let items = &call.words()[self.first..];
        let outcomes = value.insert(items, (call.key_memory_limit(), || call.limits()))?;
        let inserted = self.replicate(call, &outcomes);
        if inserted > 0 {
            key.has_changed(c"bloom.add");
        } else if is_new {
            key.has_changed(c"bloom.reserve");
        }
        Ok(outcomes)
    }

    /// Sends the items that are in now, and only those. Returns how many there are.
    fn replicate(&self, call: &Call<'_>, outcomes: &[Outcome]) -> usize {
        let inserted = outcomes.iter().filter(|&outcome| *outcome == Outcome::Inserted).count();
        if inserted == outcomes.len() {
            call.replicate_as_called();
        } else if inserted > 0 {
            let mut words = vec![Word::Same(1)];
            let new = (self.first..).zip(outcomes);
            let new = new.filter(|(_, outcome)| **outcome == Outcome::Inserted);
            words.extend(new.map(|(number, _)| Word::Same(number)));
            call.replicate(AddMany::NAME, &words);
        }
        inserted
    }
}

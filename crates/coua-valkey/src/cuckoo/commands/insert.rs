//! CF.ADD, CF.ADDNX, CF.MADD, CF.INSERT, CF.INSERTNX.

use std::ffi::{CStr, c_int};

use crate::cuckoo::inserts::Copies;
use crate::cuckoo::value::Cuckoo;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command};
use crate::settings::limits_of;
use crate::value::Value;
use crate::value::insertion::{Insertion, Rest, each, whether_new};
use crate::value::outcome::{Outcome, Outcomes};

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

/// The event of items that went in.
const ADDED: &CStr = c"cuckoo.add";

impl Command for Add {
    const NAME: &'static CStr = c"cf.add";
    const ARITY: c_int = 3;
    const WORDS: &'static CStr = c"key item";
    const SUMMARY: &'static CStr = c"Adds an item to a cuckoo filter, once more if it is there";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        run_one(call, Copies::Add)
    }
}

impl Command for AddNew {
    const NAME: &'static CStr = c"cf.addnx";
    const ARITY: c_int = 3;
    const WORDS: &'static CStr = c"key item";
    const SUMMARY: &'static CStr = c"Adds an item to a cuckoo filter unless it is there";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        run_one(call, Copies::Keep)
    }
}

impl Command for AddMany {
    const NAME: &'static CStr = c"cf.madd";
    const ARITY: c_int = -3;
    const WORDS: &'static CStr = c"key item...";
    const SUMMARY: &'static CStr = c"Adds items to a cuckoo filter";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let outcomes = run_all(call, Insertion::of_items(call)?, Copies::Add)?;
        Ok(each(outcomes, accepted))
    }
}

impl Command for Insert {
    const NAME: &'static CStr = c"cf.insert";
    const ARITY: c_int = -4;
    const WORDS: &'static CStr =
        c"key [CAPACITY capacity:integer] [ERROR rate:double | HASHBITS bits:integer] [SEED \
        seed] [NOCREATE] ITEMS item...";
    const SUMMARY: &'static CStr = c"Adds items to a cuckoo filter, and says how it is created";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let outcomes =
            run_all(call, Insertion::of_options(call.words())?.checked(call)?, Copies::Add)?;
        Ok(each(outcomes, accepted))
    }
}

impl Command for InsertNew {
    const NAME: &'static CStr = c"cf.insertnx";
    const ARITY: c_int = -4;
    const WORDS: &'static CStr =
        c"key [CAPACITY capacity:integer] [ERROR rate:double | HASHBITS bits:integer] [SEED \
        seed] [NOCREATE] ITEMS item...";
    const SUMMARY: &'static CStr =
        c"Adds items that are absent to a cuckoo filter, and says how it is created";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let outcomes =
            run_all(call, Insertion::of_options(call.words())?.checked(call)?, Copies::Keep)?;
        Ok(each(outcomes, number))
    }
}

fn accepted(outcome: Outcome) -> Reply {
    match outcome {
        Outcome::Inserted | Outcome::Present => Reply::Accepted(true),
        Outcome::Refused(Refusal::Full | Refusal::MaximumExpansions) => Reply::Accepted(false),
        Outcome::Refused(refusal) => Reply::Refused(refusal),
    }
}

/// Three answers are no truth: these are numbers in both protocols.
fn number(outcome: Outcome) -> Reply {
    match outcome {
        Outcome::Inserted => Reply::Integer(1),
        Outcome::Present => Reply::Integer(0),
        Outcome::Refused(Refusal::Full | Refusal::MaximumExpansions) => Reply::Integer(-1),
        Outcome::Refused(refusal) => Reply::Refused(refusal),
    }
}

fn run_one(call: &Call<'_>, copies: Copies) -> Result<Reply, Refusal> {
    let item = call.item()?;
    let insert = |value: &mut Value<Cuckoo>, limit| {
        Ok([value.insert_one(item, copies, limit, || limits_of(call, limit))?])
    };
    let insertion = Insertion::of_items(call)?;
    let [outcome] = insertion.run(call, insert, ADDED, &rest_of(copies))?;
    whether_new(outcome)
}

fn run_all(
    call: &Call<'_>,
    insertion: Insertion<Cuckoo>,
    copies: Copies,
) -> Result<Outcomes, Refusal> {
    let items = insertion.items(call);
    let insert = |value: &mut Value<Cuckoo>, limit| {
        value.insert(items, copies, limit, || limits_of(call, limit))
    };
    insertion.run(call, insert, ADDED, &rest_of(copies))
}

fn rest_of(copies: Copies) -> Rest {
    let command = if copies == Copies::Add { Insert::NAME } else { InsertNew::NAME };
    Rest { command, words: &["NOCREATE", "ITEMS"] }
}

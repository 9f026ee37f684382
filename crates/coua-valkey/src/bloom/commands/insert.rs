//! BF.ADD, BF.MADD, BF.INSERT.

use std::ffi::{CStr, c_int};

use crate::bloom::value::Bloom;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::{Access, Call, Command};
use crate::settings::limits_of;
use crate::value::Value;
use crate::value::insertion::{Insertion, Rest, each, whether_new};
use crate::value::outcome::{Outcome, Outcomes};

/// `BF.ADD key item`
pub(super) struct Add;
/// `BF.MADD key item [item ...]`
pub(super) struct AddMany;
/// `BF.INSERT key [CAPACITY c] [ERROR r] [EXPANSION e] [NOCREATE] [NONSCALING] [VALIDATESCALETO n]
/// [SEED s] ITEMS item [item ...]`
pub(super) struct Insert;

/// The event of items that went in.
const ADDED: &CStr = c"bloom.add";
/// How those that went in of a batch are sent on.
const REST: Rest = Rest { command: AddMany::NAME, words: &[] };

impl Command for Add {
    const NAME: &'static CStr = c"bf.add";
    const ARITY: c_int = 3;
    const WORDS: &'static CStr = c"key item";
    const SUMMARY: &'static CStr = c"Adds an item to a Bloom filter";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        let item = call.item()?;
        let insert = |value: &mut Value<Bloom>, limit| {
            Ok([value.insert_one(item, limit, || limits_of(call, limit))?])
        };
        let [outcome] = Insertion::of_items(call)?.run(call, insert, ADDED, &REST)?;
        whether_new(outcome)
    }
}

impl Command for AddMany {
    const NAME: &'static CStr = c"bf.madd";
    const ARITY: c_int = -3;
    const WORDS: &'static CStr = c"key item...";
    const SUMMARY: &'static CStr = c"Adds items to a Bloom filter";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        Ok(each(run(call, Insertion::of_items(call)?)?, truth))
    }
}

impl Command for Insert {
    const NAME: &'static CStr = c"bf.insert";
    const ARITY: c_int = -4;
    const WORDS: &'static CStr =
        c"key [CAPACITY capacity:integer] [ERROR error:double] [EXPANSION expansion:integer] \
        [NOCREATE] [NONSCALING] [VALIDATESCALETO items:integer] [SEED seed] ITEMS item...";
    const SUMMARY: &'static CStr = c"Adds items to a Bloom filter, and says how it is created";
    const ACCESS: Access = Access::Grow;

    fn run(call: &Call<'_>) -> Result<Reply, Refusal> {
        Ok(each(run(call, Insertion::of_options(call.words())?.checked(call)?)?, truth))
    }
}

fn truth(outcome: Outcome) -> Reply {
    match outcome {
        Outcome::Inserted => Reply::Truth(true),
        Outcome::Present => Reply::Truth(false),
        Outcome::Refused(refusal) => Reply::Refused(refusal),
    }
}

fn run(call: &Call<'_>, insertion: Insertion<Bloom>) -> Result<Outcomes, Refusal> {
    let items = insertion.items(call);
    let insert =
        |value: &mut Value<Bloom>, limit| value.insert(items, limit, || limits_of(call, limit));
    insertion.run(call, insert, ADDED, &REST)
}

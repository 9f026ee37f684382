//! A filter on a server: opened or created, asked about keys, described.

use crate::address::Address;
use crate::description::{Description, window};
use crate::error::{Error, Program};
use crate::exchange::Exchange;
use crate::order::Order;
use crate::question::{Answer, Batch, Keys, LONGEST_KEY, Question};
use crate::shards::{Shards, key, slot};
use redis::{Cmd, Value};
use std::mem;

/// A filter on a server.
#[derive(Debug)]
pub struct Filter {
    exchange: Exchange,
    shards: Shards,
    /// Keys about which was asked twice.
    in_doubt: u64,
}

/// A question on its way.
#[derive(Debug)]
pub struct Asked {
    question: Question,
    batches: Vec<Batch>,
    keys: usize,
    is_too_long: bool,
}

impl Filter {
    /// The filter that is there.
    ///
    /// # Errors
    ///
    /// What is wrong with the server, or that there is no filter.
    pub fn open(address: &Address, program: Program) -> Result<(Self, Description), Error> {
        let mut filter = Self::connect(address, program)?;
        match filter.describe()? {
            Some(description) => Ok((filter, description)),
            None => {
                Err(filter.failure("there is no such filter: coua dedup or coua add creates it"))
            }
        }
    }

    pub(crate) fn connect(address: &Address, program: Program) -> Result<Self, Error> {
        let exchange = Exchange::new(address.clone(), program);
        let exchange = exchange.map_err(|trouble| Error::at(address, trouble))?;
        let shards = Shards::new(&address.name, address.shards);
        Ok(Self { exchange, shards, in_doubt: 0 })
    }

    /// Whether the answers to what is on its way are in doubt.
    pub fn has_doubts(&self) -> bool {
        self.exchange.has_doubts()
    }

    /// About how many keys was asked twice.
    pub fn in_doubt(&self) -> u64 {
        self.in_doubt
    }

    /// How often a connection was lost.
    pub fn losses(&self) -> u64 {
        self.exchange.losses
    }

    /// The address, without its password.
    pub fn name(&self) -> String {
        self.exchange.address.to_string()
    }

    /// How many keys of the server it is spread over.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// The keys of the shards.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.shards.keys().to_vec()
    }

    /// What the server tells of all shards; none if the filter is not there.
    ///
    /// # Errors
    ///
    /// What is wrong with the server, or with the shards.
    pub fn describe(&mut self) -> Result<Option<Description>, Error> {
        let mut found = self.look_for_all()?;
        self.refuse_other_shards(&found)?;
        found.truncate(self.shards.len());
        if found.first().is_none_or(Option::is_none) {
            return Ok(None);
        }
        if let Some(missing) = found.iter().position(Option::is_none) {
            let key = &self.shards.keys()[missing];
            let reason = format!(
                "the server lacks {key}: the filter is spread over fewer shards than \
                                  the address says, or has lost this one"
            );
            return Err(self.failure(&reason));
        }
        let found: Vec<Value> = found.into_iter().flatten().collect();
        self.refuse_other_windows(&found)?;
        let described = Description::of(&found);
        described.map(Some).ok_or_else(|| self.failure("CF.INFO is not answered as expected"))
    }

    /// Complains if the shards do not all forget alike.
    fn refuse_other_windows(&self, found: &[Value]) -> Result<(), Error> {
        let differs = |shard: &Value| window(shard) != window(&found[0]);
        let Some(other) = found.iter().position(differs) else { return Ok(()) };
        let [first, other] = [0, other].map(|shard| &self.shards.keys()[shard]);
        let reason = format!(
            "{other} has another window than {first} (CF.INFO key FULL tells): all shards of a filter need the same; \
             rename or delete what does not belong to it"
        );
        Err(self.failure(&reason))
    }

    /// What CF.INFO answers for each shard, for the key that there would be if there were more of them, and,
    /// unless it is the only shard, for the name alone.
    fn look_for_all(&mut self) -> Result<Vec<Option<Value>>, Error> {
        let Address { name, shards, .. } = &self.exchange.address;
        let beyond = key(name, shards.unwrap_or(0));
        let single = shards.map(|_| name);
        let info = |key: &String| order(key, redis::cmd("CF.INFO").arg(key).arg("FULL"));
        let orders = self.shards.keys().iter().chain([&beyond]).chain(single).map(info).collect();
        let mut found = Vec::new();
        for order in self.run(orders)? {
            let is_single = found.len() > self.shards.len();
            found.push(match order.reply {
                Some(Ok(fields)) => Some(fields),
                Some(Err(text)) if text == "not found" => None,
                // What is no filter is not in the way, nor what this user may not ask about.
                Some(Err(_)) if is_single => None,
                Some(Err(text)) => return Err(self.failure(&text)),
                None => None,
            });
        }
        Ok(found)
    }

    /// Refuses a filter of the same name that has other shards than the address says.
    fn refuse_other_shards(&self, found: &[Option<Value>]) -> Result<(), Error> {
        let Address { name, shards, .. } = &self.exchange.address;
        let has = |place: usize| found.get(place).is_some_and(Option::is_some);
        let beyond = self.shards.len();
        let (has_single, has_shards) = match shards {
            None => (has(0), has(beyond)),
            Some(_) => (has(beyond + 1), has(0)),
        };
        let reason = if has_single && has_shards {
            let shard = key(name, 0);
            format!(
                "the server has both {name} and {shard}, a filter of a single key and one of shards: \
                 rename or delete one of them"
            )
        } else if has_single && shards.is_some() {
            format!(
                "the server has {name}: the filter is this single key, and its address is without \
                 ?shards=N"
            )
        } else if has(beyond) {
            let beyond = key(name, shards.unwrap_or(0));
            format!(
                "the server has {beyond}: the filter is spread over more shards than the address says \
                 (?shards=N)"
            )
        } else {
            return Ok(());
        };
        Err(self.failure(&reason))
    }

    /// Asks about keys; [`answers`](Self::answers) gives the answers later, in the order of the questions.
    pub fn ask(&mut self, question: Question, keys: Keys<'_>) -> Asked {
        let is_too_long = keys.iter().any(|key| key.len() > LONGEST_KEY);
        let batches = if is_too_long { Vec::new() } else { Batch::of(keys, &self.shards) };
        let names = self.shards.keys();
        let orders = batches.iter().map(|batch| {
            let key = &names[batch.shard];
            let mut order = order(key, &batch.command(question, keys, key));
            order.first_key = question.first_key();
            order
        });
        self.exchange.post(orders);
        Asked { question, batches, keys: keys.hashes.len(), is_too_long }
    }

    /// The answers, as long as there is hope of one. If there is none for some of the keys, tells why.
    pub fn answers(&mut self, asked: Asked) -> (Vec<Answer>, Result<(), Error>) {
        let Asked { question, batches, keys, is_too_long } = asked;
        let mut answers = vec![Answer::default(); keys];
        if is_too_long {
            let reason = "a key of more than 512 MiB is more than servers take";
            return (answers, Err(self.failure(reason)));
        }
        let (orders, result) = self.exchange.take(batches.len());
        let mut result = result.map_err(|text| self.failure(&text));
        for (batch, order) in batches.iter().zip(orders) {
            let in_doubt = order.in_doubt;
            let wanted = batch.places.len();
            let numbers = numbers(order.reply, question, wanted).unwrap_or_else(|text| {
                let first = mem::replace(&mut result, Ok(()));
                result = first.and(Err(self.failure(&text)));
                Vec::new()
            });
            let mut numbers = numbers.into_iter();
            for &place in &batch.places {
                answers[place] = Answer { number: numbers.next(), in_doubt };
            }
            self.in_doubt += if in_doubt { wanted as u64 } else { 0 };
        }
        (answers, result)
    }

    /// Has orders done while no question is open.
    pub(crate) fn run(&mut self, orders: Vec<Order>) -> Result<Vec<Order>, Error> {
        let count = orders.len();
        self.exchange.post(orders);
        let (orders, result) = self.exchange.take(count);
        result.map(|()| orders).map_err(|text| self.failure(&text))
    }

    pub(crate) fn failure(&self, reason: &str) -> Error {
        let reason = if reason == "not found" { GONE } else { reason };
        Error::at(&self.exchange.address, reason)
    }
}

pub(crate) const GONE: &str =
    "the filter has gone from the server: it was removed, or was lost with it";

/// The numbers of a reply; none if there was no reply.
fn numbers(
    reply: Option<Result<Value, String>>,
    question: Question,
    wanted: usize,
) -> Result<Vec<i64>, String> {
    let strange = || "it sent an answer that does not fit the command".to_owned();
    let Some(reply) = reply else { return Ok(Vec::new()) };
    let Value::Array(numbers) = reply? else { return Err(strange()) };
    let number = |number| match number {
        Value::Int(number) if question.allows(number) => Ok(number),
        _ => Err(strange()),
    };
    let numbers = numbers.into_iter().map(number).collect::<Result<Vec<_>, _>>()?;
    if numbers.len() == wanted { Ok(numbers) } else { Err(strange()) }
}

pub(crate) fn order(key: &str, command: &Cmd) -> Order {
    Order::new(slot(key), command.get_packed_command())
}

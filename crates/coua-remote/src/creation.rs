//! Creating the shards of a filter, also when several processes do so at once.

use crate::address::Address;
use crate::description::Description;
use crate::error::{Error, Program};
use crate::filter::{Filter, GONE, order};
use std::time::{Duration, Instant};
use std::{slice, thread};

/// How long another process may take to create the shards of a filter, and how often is looked for them.
const CREATION: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

impl Filter {
    /// The filter that is there; or a new one, for which `words` says CF.RESERVE's words for each of so many shards.
    ///
    /// # Errors
    ///
    /// Those of `words`, and [`Error`]s of the server.
    pub fn open_or_create<E: From<Error>>(
        address: &Address,
        words: impl FnOnce(u64) -> Result<Vec<String>, E>,
        program: Program,
    ) -> Result<(Self, Description), E> {
        let mut filter = Self::connect(address, program)?;
        if let Some(description) = filter.describe()? {
            return Ok((filter, description));
        }
        filter.create(words(filter.shards() as u64)?)?;
        // Another process may have created it at the same time, and otherwise.
        let description = filter.describe()?;
        let description = description.ok_or_else(|| filter.failure(GONE))?;
        Ok((filter, description))
    }

    /// Creates the shards that are missing. The first one comes last: where it is, all are.
    ///
    /// All have the same secret key of their hash, so that they can be merged. Of processes that do this at
    /// once, the one that creates the last shard creates the others too, unless it dies on the way.
    fn create(&mut self, mut words: Vec<String>) -> Result<(), Error> {
        let keys = self.keys();
        let Some((first, others)) = keys.split_first() else { return Ok(()) };
        if let Some((last, between)) = others.split_last() {
            words.extend(["SEED".to_owned(), self.seed()?]);
            if !self.reserve(slice::from_ref(last), &words)? && self.appears()? {
                return Ok(());
            }
            self.reserve(between, &words)?;
        }
        self.reserve(slice::from_ref(first), &words).map(drop)
    }

    /// Creates keys; tells whether none of them was there.
    fn reserve(&mut self, keys: &[String], words: &[String]) -> Result<bool, Error> {
        let reserve = |key: &String| order(key, redis::cmd("CF.RESERVE").arg(key).arg(words));
        let mut are_new = true;
        for order in self.run(keys.iter().map(reserve).collect())? {
            match order.reply {
                Some(Err(text)) if text == "item exists" => are_new &= order.in_doubt,
                Some(Err(text)) => return Err(self.failure(&text)),
                _ => {}
            }
        }
        Ok(are_new)
    }

    /// Whether another process completes the filter within a moment.
    fn appears(&mut self) -> Result<bool, Error> {
        let until = Instant::now() + CREATION;
        while Instant::now() < until {
            if self.describe()?.is_some() {
                return Ok(true);
            }
            thread::sleep(PAUSE);
        }
        Ok(false)
    }

    /// A secret key, as CF.RESERVE takes it.
    fn seed(&self) -> Result<String, Error> {
        let mut key = [0; 16];
        let filled = rustls::crypto::ring::default_provider().secure_random.fill(&mut key);
        filled
            .map_err(|_| self.failure("the system has no random numbers for the filter's key"))?;
        Ok(format!("{:032x}", u128::from_le_bytes(key).swap_bytes()))
    }
}

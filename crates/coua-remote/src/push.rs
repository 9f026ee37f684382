//! `coua push`: a filter of this machine as a key of a server.

use crate::Address;
use crate::error::{Error, Program};
use crate::filter::{Filter, order};
use crate::image;
use coua::window::Generations;
use std::fmt;

/// Bytes of a command: servers may be set to refuse longer ones than 1 MiB.
const CHUNK: usize = 512 << 10;

const NO_SHARDS: &str = "a filter cannot be spread over shards: it has the hashes of its items, and not the \
                         items; leave ?shards=N out";

/// Creates the key. Other clients get errors about it until all of it is there.
///
/// # Errors
///
/// What is wrong with the server, or that the key is there already.
pub fn push(pushed: &Generations, address: &Address, program: Program) -> Result<(), Error> {
    if address.shards.is_some() {
        return Err(Error::at(address, NO_SHARDS));
    }
    let bytes = image::encode(pushed).map_err(|error| Error::at(address, error))?;
    let mut filter = Filter::connect(address, program)?;
    if filter.describe()?.is_some() {
        return Err(filter.failure(THERE));
    }
    let mut end = 0;
    for chunk in bytes.chunks(CHUNK) {
        let is_first = end == 0;
        end += chunk.len();
        // A position is the end of a chunk, plus one.
        if let Err(refused) = filter.load(end + 1, chunk)? {
            let is_ours = !is_first && refused.reason != "not found";
            if is_ours {
                filter.remove_begun()?;
            }
            return Err(filter.failure(&refused.to_string()));
        }
    }
    Ok(())
}

const PERHAPS: &str = "the connection was lost at the first chunk, which may be there: delete the key (DEL), \
                       and push again";
const THERE: &str = "there is a filter of this name already: name another one, or delete it (DEL)";

/// Why a chunk was not taken.
struct Refused {
    reason: String,
    in_doubt: bool,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason.as_str() {
            "item exists" if self.in_doubt => f.write_str(PERHAPS),
            "item exists" => f.write_str(THERE),
            reason => write!(f, "the server does not take the filter: {reason}"),
        }
    }
}

impl Filter {
    fn load(&mut self, position: usize, chunk: &[u8]) -> Result<Result<(), Refused>, Error> {
        let key = self.keys().remove(0);
        let command = redis::cmd("CF.LOADCHUNK").arg(&key).arg(position).arg(chunk).to_owned();
        let mut done = self.run(vec![order(&key, &command)])?;
        Ok(match done.pop().map(|order| (order.reply, order.in_doubt)) {
            Some((Some(Err(reason)), in_doubt)) => Err(Refused { reason, in_doubt }),
            _ => Ok(()),
        })
    }

    /// Takes away what this run has begun.
    fn remove_begun(&mut self) -> Result<(), Error> {
        let key = self.keys().remove(0);
        self.run(vec![order(&key, redis::cmd("DEL").arg(&key))]).map(drop)
    }
}

//! `coua pull`: the filter of a server, all shards of it, as one filter here.

use crate::Address;
use crate::error::{Error, Program};
use crate::filter::{Filter, order};
use crate::image;
use coua::window::Generations;
use redis::Value;

/// A dump in one command: the server does nothing else meanwhile, so that all of it is of one moment. Numbers
/// are written out because those of Lua are not integers.
const SCRIPT: &str = "local chunks, at = {}, 0 \
    repeat \
      local answer = redis.call('CF.SCANDUMP', KEYS[1], string.format('%.0f', at)) \
      at = answer[1] \
      if at ~= 0 then chunks[#chunks + 1] = answer[2] end \
    until at == 0 \
    return chunks";

/// Bytes by which a dump may be longer than the memory that the server says the filter takes: it may have
/// grown since, and a dump has padding.
const MARGIN: u64 = 64 << 20;

/// All items of the filter. Each shard is of one moment, and no two need be of the same.
///
/// # Errors
///
/// What is wrong with the server, or why its shards cannot be merged.
pub fn pull(address: &Address, program: Program) -> Result<Generations, Error> {
    let (mut filter, found) = Filter::open(address, program)?;
    let most_bytes = found.memory_bytes.saturating_mul(2).saturating_add(MARGIN);
    let mut union: Option<Generations> = None;
    for key in filter.keys() {
        let shard = filter.shard(&key, most_bytes)?;
        match &mut union {
            None => union = Some(shard),
            Some(union) => union.merge(&shard).map_err(|error| {
                let reason = format!("{key} cannot be merged with the shards before it: {error}");
                filter.failure(&reason)
            })?,
        }
    }
    union.ok_or_else(|| filter.failure("it has no shards"))
}

impl Filter {
    fn shard(&mut self, key: &str, most_bytes: u64) -> Result<Generations, Error> {
        let mut dump = order(key, redis::cmd("EVAL_RO").arg(SCRIPT).arg(1).arg(key));
        dump.most_bytes = most_bytes;
        let reply = self.run(vec![dump])?.pop().and_then(|order| order.reply);
        let Some(Ok(Value::Array(chunks))) = reply else {
            let reason = reply.and_then(Result::err).unwrap_or_default();
            return Err(self.failure(&format!("{key} is not sent: {reason}")));
        };
        let mut bytes = Vec::new();
        for chunk in chunks {
            if let Value::BulkString(chunk) = chunk {
                bytes.extend_from_slice(&chunk);
            }
        }
        image::decode(&bytes).map_err(|reason| self.failure(&format!("{key}: {reason}")))
    }
}

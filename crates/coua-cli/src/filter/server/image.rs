//! Whole filters to and from a server: `coua pull` and `coua push`, and the module's representation of a filter.
//!
//! CF.SCANDUMP returns an [image], and CF.LOADCHUNK loads one.

use super::connection::Value;
use super::requests::{RemoteFilter, Request};
use crate::filter::Address;
use crate::key::KeySpec;
use crate::terminal::{Exit, Failure, Result, Verbosity, caught_signal, signals};
use coua::LoadError;
use coua::window::Generations;
use coua_image as image;

/// Dumps the filter in one command: the server executes nothing else meanwhile, so the dump is consistent. Numbers are
/// written out because Lua's are not integers.
const SCRIPT: &str = "local chunks, at = {}, 0 \
    repeat \
      local answer = redis.call(ARGV[1], KEYS[1], string.format('%.0f', at)) \
      at = answer[1] \
      if at ~= 0 then chunks[#chunks + 1] = answer[2] end \
    until at == 0 \
    return chunks";

/// How many bytes longer a dump may be than the memory that the server reports for the filter: it may have grown since,
/// and a dump has padding.
const MARGIN: u64 = 64 << 20;

/// Reads all items of the filter, and how its keys are made. Each shard is consistent, but different shards may be read
/// at different moments.
pub(crate) fn pull(
    address: &Address,
    verbosity: Verbosity,
) -> Result<(Generations, Option<KeySpec>)> {
    let (mut filter, found) = RemoteFilter::open(address, None, verbosity)?;
    let most_bytes = found.figures.memory_bytes.saturating_mul(2).saturating_add(MARGIN);
    let keys = filter.keys.clone();
    let mut union = filter.shard(&keys[0], most_bytes)?;
    for key in &keys[1..] {
        union.merge(&filter.shard(key, most_bytes)?).map_err(|error| {
            filter.failure(&format!("{key} cannot be merged with the shards before it: {error}"))
        })?;
    }
    Ok((union, found.key_spec))
}

/// Bytes per command: a server's limit may be as low as 1 MiB.
const CHUNK: usize = 512 << 10;

/// Creates the key, which must not exist. The chunks go to a temporary key, which takes the name when it is complete:
/// another client's key of that name is neither changed nor removed, and no client sees an incomplete filter.
pub(crate) fn push(
    pushed: &Generations,
    keys: Option<&KeySpec>,
    address: &Address,
    verbosity: Verbosity,
) -> Result<()> {
    if address.shards.is_some() {
        let reason = "a filter file cannot be spread over shards, because it holds hashes, not items; drop ?shards=N";
        return Err(Failure::at(address, reason));
    }
    let note = |keys: &KeySpec| image::encode_note(KeySpec::NOTE.as_bytes(), &keys.to_note());
    let bytes = image::encode(pushed, &keys.map_or_else(Vec::new, note));
    let bytes = bytes.map_err(|error| Failure::at(address, error))?;
    let mut filter = RemoteFilter::connect(address, verbosity)?;
    if filter.describe()?.is_some() {
        return Err(filter.failure(THERE));
    }
    // In the slot of the filter's key: its hash tag is the filter's name.
    let temporary = format!("{{{}}}.coua-push-{}", address.name, filter.seed()?);
    signals::delay()?;
    let created = filter.load(&temporary, &bytes).and_then(|()| filter.rename(&temporary));
    drop(filter);
    created.map_err(|failure| {
        // A new connection: the old one may have been given up.
        let delete = Request::new(&temporary, &[b"DEL", temporary.as_bytes()]);
        let deleted =
            RemoteFilter::connect(address, verbosity).and_then(|mut filter| filter.call(delete));
        let left = match deleted {
            Ok(Request { reply: Some(Ok(_)), .. }) => String::new(),
            _ => format!("; the server may still have the key {temporary}: delete it (DEL)"),
        };
        let reason = failure.reason().to_owned() + &left;
        Failure::ending(Exit::Error.or_signal(), address, reason)
    })
}

const THERE: &str = "the key exists already; use another name, or delete it (DEL)";
const PERHAPS: &str =
    "the connection was lost while the filter got its name; look whether it is there (`coua info`)";

impl RemoteFilter {
    /// Reads a shard.
    fn shard(&mut self, key: &str, most_bytes: u64) -> Result<Generations> {
        let scan_dump = format!("{}SCANDUMP", self.prefix);
        let command = ["EVAL_RO", SCRIPT, "1", key, &scan_dump].map(str::as_bytes);
        let mut request = Request::new(key, &command);
        request.most_bytes = most_bytes;
        let reply = self.call(request)?.reply.unwrap_or(Ok(Value::Nil));
        let shard = reply.and_then(|chunks| decode(chunks.elements().unwrap_or_default()));
        shard.map_err(|reason| self.failure(&format!("{key}: {reason}")))
    }

    /// Sends an image to a key that only this process uses.
    fn load(&mut self, key: &str, image: &[u8]) -> Result<()> {
        let mut end = 0;
        for chunk in image.chunks(CHUNK) {
            if caught_signal().is_some() {
                let reason = "the program was told to stop; the filter was not created";
                return Err(self.failure(reason));
            }
            end += chunk.len();
            // A position is the end of a chunk, plus one.
            let position = (end + 1).to_string();
            let request = self.request("LOADCHUNK", key, &[position.as_bytes(), chunk]);
            let Request { reply, in_doubt, .. } = self.call(request)?;
            let Some(Err(reason)) = reply else { continue };
            // Sent again after it was stored. If it was not, the next chunk is refused too.
            let may_be_stored =
                reason == "item exists" || reason == "Invalid position" && end < image.len();
            if !(in_doubt && may_be_stored) {
                return Err(self.refused(&reason, key));
            }
        }
        Ok(())
    }

    /// Renames the complete key to the name of the filter, unless another client has made a key of that name.
    fn rename(&mut self, temporary: &str) -> Result<()> {
        let name = &self.keys[0];
        let command = ["RENAMENX", temporary, name].map(str::as_bytes);
        let Request { reply, in_doubt, .. } = self.call(Request::new(name, &command))?;
        match reply {
            Some(Ok(Value::Int(1))) => Ok(()),
            Some(Err(reason)) if in_doubt && reason == "no such key" => Err(self.failure(PERHAPS)),
            Some(Err(reason)) => Err(self.refused(&reason, temporary)),
            _ => Err(self.failure(THERE)),
        }
    }

    fn refused(&self, reason: &str, key: &str) -> Failure {
        self.failure(&format!("the server refused or lost the filter: {reason} (key {key})"))
    }
}

const OF_REDISBLOOM: &str = "the filter has RedisBloom's layout, which does not store whole hashes; only filters \
                             created by Coua's module can be pulled";
const NO_IMAGE: &str = "the server sent a filter in a format that this version does not know";

/// Decodes the filter in the chunks of an image.
fn decode(chunks: &[Value]) -> Result<Generations, String> {
    let bytes = chunks.iter().filter_map(Value::text).collect::<Vec<_>>().concat();
    image::decode(&bytes).map_err(|error| match error {
        LoadError::NotAFilter => OF_REDISBLOOM.to_owned(),
        error => format!("{NO_IMAGE}: {error}"),
    })
}

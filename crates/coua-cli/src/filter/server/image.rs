//! Whole filters to and from a server: `coua pull` and `coua push`, and the module's representation of a filter.
//!
//! CF.SCANDUMP returns an image, and CF.LOADCHUNK loads one. `cuckoo_image.rs` of the module describes the layout. A
//! head gives the hash function and its key. Then follows the filter as in a file (docs/format.md), or, while it has
//! few items, a list of their hashes.

use super::address::Address;
use super::remote_filter::{RemoteFilter, request};
use crate::key::KeySpec;
use crate::terminal::{Failure, Result, Verbosity};
use coua::window::{AgeFrom, Generations};
use coua::{CuckooFilter, HashAlgorithm, KeyHash, KeyHasher, Load, WhenFull};
use redis::Value;
use std::{fmt, io};

/// Dumps the filter in one command: the server executes nothing else meanwhile, so the dump is consistent. Numbers are
/// written out because Lua's are not integers.
const SCRIPT: &str = "local chunks, at = {}, 0 \
    repeat \
      local answer = redis.call('CF.SCANDUMP', KEYS[1], string.format('%.0f', at)) \
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
    let (mut filter, found) = RemoteFilter::open(address, verbosity)?;
    let keys = found.key_spec(address)?;
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
    let union = union.ok_or_else(|| filter.failure("it has no shards"))?;
    Ok((union, keys))
}

impl RemoteFilter {
    fn shard(&mut self, key: &str, most_bytes: u64) -> Result<Generations> {
        let mut dump = request(key, redis::cmd("EVAL_RO").arg(SCRIPT).arg(1).arg(key));
        dump.most_bytes = most_bytes;
        let reply = self.run(vec![dump])?.pop().and_then(|request| request.reply);
        let Some(Ok(Value::Array(chunks))) = reply else {
            let reason = reply.and_then(Result::err).unwrap_or_default();
            return Err(self.failure(&format!("the server did not send {key}: {reason}")));
        };
        let mut bytes = Vec::new();
        for chunk in chunks {
            if let Value::BulkString(chunk) = chunk {
                bytes.extend_from_slice(&chunk);
            }
        }
        decode(&bytes).map_err(|reason| self.failure(&format!("{key}: {reason}")))
    }
}

/// Bytes per command: a server's limit may be as low as 1 MiB.
const CHUNK: usize = 512 << 10;

const LAST_SEEN: &str = "cannot hold a filter with --window-by last: on a server a record's age counts from when it was \
                         first seen";
const NO_SHARDS: &str = "a filter file cannot be spread over shards, because it holds hashes, not items; drop \
                         ?shards=N";

/// Creates the key. Other clients get errors about it until it is complete.
pub(crate) fn push(
    pushed: &Generations,
    keys: Option<&KeySpec>,
    address: &Address,
    verbosity: Verbosity,
) -> Result<()> {
    if address.shards.is_some() {
        return Err(Failure::at(address, NO_SHARDS));
    }
    if pushed.window().is_some_and(|window| window.age_from() == AgeFrom::LastSeen) {
        return Err(Failure::at(address, LAST_SEEN));
    }
    let bytes = encode(pushed, keys).map_err(|error| Failure::at(address, error))?;
    let mut filter = RemoteFilter::connect(address, verbosity)?;
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

const PERHAPS: &str = "the connection was lost at the first chunk, which may exist; delete the key (DEL), and push \
                       again";
const THERE: &str = "the key exists already; use another name, or delete it (DEL)";

/// Why a chunk was refused.
struct ChunkError {
    reason: String,
    in_doubt: bool,
}

impl fmt::Display for ChunkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason.as_str() {
            "item exists" if self.in_doubt => f.write_str(PERHAPS),
            "item exists" => f.write_str(THERE),
            reason => write!(f, "the server refused the filter: {reason}"),
        }
    }
}

impl RemoteFilter {
    fn load(&mut self, position: usize, chunk: &[u8]) -> Result<Result<(), ChunkError>> {
        let key = self.keys().remove(0);
        let command = redis::cmd("CF.LOADCHUNK").arg(&key).arg(position).arg(chunk).to_owned();
        let mut done = self.run(vec![request(&key, &command)])?;
        Ok(match done.pop().map(|request| (request.reply, request.in_doubt)) {
            Some((Some(Err(reason)), in_doubt)) => Err(ChunkError { reason, in_doubt }),
            _ => Ok(()),
        })
    }

    /// Removes an incomplete key of this run.
    fn remove_begun(&mut self) -> Result<()> {
        let key = self.keys().remove(0);
        self.run(vec![request(&key, redis::cmd("DEL").arg(&key))]).map(drop)
    }
}

const MAGIC: &[u8; 8] = b"CouaKey1";
/// Bytes before the filter.
const HEAD: usize = 64;
/// What follows the head.
const FILTER: u32 = 1;
const FEW: u32 = 3;
const WINDOW: u32 = 4;
/// The hash function.
const XXH3: u32 = 1;
const SIPHASH_1_3: u32 = 2;
/// The defaults of BUCKETSIZE and MAXITERATIONS.
const HINTS: [u32; 2] = [2, 20];
/// The position of EXPANSION in the head: 0 if the filter does not grow.
const EXPANSION_AT: usize = 40;
/// The position of the length of the notes in the head.
const NOTES_AT: usize = 44;
/// The most bytes of all notes.
const MOST_NOTES: usize = 4096;
/// Bytes before the list of hashes.
const FEW_FRONT: usize = 16;

const OF_REDISBLOOM: &str = "the filter has RedisBloom's layout, which does not store whole hashes; only filters \
                             created by Coua's module can be pulled";
const NO_IMAGE: &str = "the server sent a filter in a format that this version does not know";

/// Decodes the filter in an image.
fn decode(bytes: &[u8]) -> Result<Generations, String> {
    if bytes.len() < HEAD || &bytes[..8] != MAGIC {
        return Err(OF_REDISBLOOM.to_owned());
    }
    let (head, rest) = bytes.split_at(HEAD);
    let (covered, sum) = head.split_at(HEAD - 8);
    if checksum(covered).to_le_bytes() != sum {
        return Err(NO_IMAGE.to_owned());
    }
    let notes = u32_at(head, NOTES_AT) as usize;
    let notes = if notes > 0 { notes + size_of::<u64>() } else { 0 };
    let body = rest.get(notes..).ok_or(NO_IMAGE)?;
    let key = head[16..32].first_chunk().copied();
    let key = key.filter(|_| u32_at(head, 12) == SIPHASH_1_3);
    match u32_at(head, 8) {
        FILTER | WINDOW => {
            Load::new().key(key).bytes(body).map_err(|error| format!("{NO_IMAGE}: {error}"))
        }
        FEW => {
            let grows = u32_at(head, EXPANSION_AT) > 0;
            let when_full = if grows { WhenFull::Grow } else { WhenFull::Refuse };
            few(body, key.ok_or(NO_IMAGE)?, when_full).ok_or_else(|| NO_IMAGE.to_owned())
        }
        _ => Err(NO_IMAGE.to_owned()),
    }
}

/// Decodes a filter stored as a list of hashes.
fn few(body: &[u8], key: [u8; 16], when_full: WhenFull) -> Option<Generations> {
    let end = body.len().checked_sub(size_of::<u64>())?;
    if end < FEW_FRONT || checksum(&body[..end]).to_le_bytes() != body[end..] {
        return None;
    }
    let (capacity, bits) = (u64_at(body, 0), u32_at(body, 8));
    let hashes = sorted_hashes(&body[FEW_FRONT..end], bits, u64::from(u32_at(body, 12)))?;
    let capacity = capacity.max(hashes.len() as u64);
    let builder = CuckooFilter::builder().capacity(capacity).hash_bits(bits);
    let builder = builder.hasher(KeyHasher::siphash13(key)).when_full(when_full);
    let mut filter = builder.build().ok()?;
    filter.insert_batch(&hashes).ok()?;
    Some(filter.into())
}

/// The smallest hash with the same first bits, for each of `count` hashes; the module's `sorted_hashes.rs` describes
/// their encoding.
fn sorted_hashes(words: &[u8], bits: u32, count: u64) -> Option<Vec<KeyHash>> {
    let high = count.next_power_of_two().ilog2().max(1).min(bits);
    let low = Some(bits - high).filter(|_| (8..=u64::BITS).contains(&bits))?;
    let bit = |at: u64| words.get((at / 8) as usize).map(|byte| u64::from(byte >> (at % 8) & 1));
    let ends_at = count * u64::from(low);
    let (mut hashes, mut range, mut at) = (Vec::new(), 0_u64, ends_at);
    while (hashes.len() as u64) < count {
        if bit(at)? == 0 {
            range += 1;
        } else {
            let first = hashes.len() as u64 * u64::from(low);
            let own = (0..u64::from(low))
                .try_fold(0, |own, place| Some(own | bit(first + place)? << place))?;
            let value = range.checked_shl(low)? | own;
            hashes.push(KeyHash::from_u64(value << (u64::BITS - bits)));
        }
        at += 1;
    }
    Some(hashes)
}

/// Encodes a filter as an image.
fn encode(filter: &Generations, keys: Option<&KeySpec>) -> io::Result<Vec<u8>> {
    let notes = keys.map_or_else(Vec::new, |keys| note(KeySpec::NOTE.as_bytes(), &keys.to_note()));
    if notes.len() > MOST_NOTES {
        let reason = "the options that select its keys are too long for a server";
        return Err(io::Error::other(reason));
    }
    let kind = if filter.window().is_some() { WINDOW } else { FILTER };
    let mut key = [0; 16];
    let algorithm = match filter.hasher().algorithm() {
        HashAlgorithm::SipHash13 { key: secret } => {
            key = secret;
            SIPHASH_1_3
        }
        HashAlgorithm::Xxh3 { seed } => {
            key[..8].copy_from_slice(&seed.to_le_bytes());
            XXH3
        }
        // A kind of a later version.
        _ => return Err(io::ErrorKind::Unsupported.into()),
    };
    // Generations grow.
    let expansion = u32::from(kind == WINDOW || filter.template().when_full() != WhenFull::Refuse);
    let mut bytes = MAGIC.to_vec();
    bytes.extend([kind, algorithm].iter().flat_map(|field| field.to_le_bytes()));
    bytes.extend(key);
    let [bucket_size, max_iterations] = HINTS;
    let options = [bucket_size, max_iterations, expansion, notes.len() as u32];
    bytes.extend(options.iter().flat_map(|field| field.to_le_bytes()));
    // No item was removed since then.
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend(checksum(&bytes).to_le_bytes());
    if !notes.is_empty() {
        bytes.extend_from_slice(&notes);
        bytes.extend(checksum(&notes).to_le_bytes());
    }
    filter.write_to(&mut bytes)?;
    Ok(bytes)
}

/// Encodes a note for an image.
fn note(name: &[u8], note: &[u8]) -> Vec<u8> {
    let lengths = [name, note].map(|part| (part.len().min(MOST_NOTES) as u16).to_le_bytes());
    [lengths.as_flattened(), name, note].concat()
}

/// XXH3-64 with seed 0.
fn checksum(bytes: &[u8]) -> u64 {
    KeyHasher::xxh3(0).hash(bytes).to_u64()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk());
    field.map_or(0, |field| u32::from_le_bytes(*field))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

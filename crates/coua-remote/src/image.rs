//! A filter as the module keeps it: what CF.SCANDUMP answers and CF.LOADCHUNK takes, as one piece.
//!
//! The module's own `image.rs` describes the layout. A head tells the hash and its key. The filter follows
//! as in a file (docs/format.md), or, while it has few items, their hashes.

use coua::window::Generations;
use coua::{CuckooFilter, HashAlgorithm, KeyHash, KeyHasher, Load, WhenFull};
use std::io;

const MAGIC: &[u8; 8] = b"CouaKey1";
/// Bytes before the filter.
const HEAD: usize = 64;
/// What follows the head.
const FILTER: u32 = 1;
const FEW: u32 = 3;
const WINDOW: u32 = 4;
/// How keys are hashed.
const XXH3: u32 = 1;
const SIPHASH_1_3: u32 = 2;
/// BUCKETSIZE and MAXITERATIONS of a filter for which nothing else was said.
const HINTS: [u32; 2] = [2, 20];
/// Bytes before the hashes of few items.
const FEW_FRONT: usize = 16;

const OF_REDISBLOOM: &str = "it has the layout of RedisBloom, which forgets the hashes of its items: only \
                             filters made by the module coua can be pulled";
const NO_IMAGE: &str = "the server sent a filter in a format that this version does not know";

/// The filter in an image.
pub(crate) fn decode(bytes: &[u8]) -> Result<Generations, String> {
    if bytes.len() < HEAD || &bytes[..8] != MAGIC {
        return Err(OF_REDISBLOOM.to_owned());
    }
    let (head, body) = bytes.split_at(HEAD);
    let (covered, sum) = head.split_at(HEAD - 8);
    if checksum(covered).to_le_bytes() != sum {
        return Err(NO_IMAGE.to_owned());
    }
    let key = head[16..32].first_chunk().copied();
    let key = key.filter(|_| u32_at(head, 12) == SIPHASH_1_3);
    match u32_at(head, 8) {
        FILTER | WINDOW => {
            Load::new().key(key).bytes(body).map_err(|error| format!("{NO_IMAGE}: {error}"))
        }
        FEW => few(body, key.ok_or(NO_IMAGE)?).ok_or_else(|| NO_IMAGE.to_owned()),
        _ => Err(NO_IMAGE.to_owned()),
    }
}

/// The filter of few items.
fn few(body: &[u8], key: [u8; 16]) -> Option<Generations> {
    let items = usize::try_from(u32_at(body, 12)).ok()?;
    let end = items.checked_mul(size_of::<u64>())?.checked_add(FEW_FRONT)?;
    if checksum(body.get(..end)?).to_le_bytes() != body[end..] {
        return None;
    }
    let builder = CuckooFilter::builder().capacity(u64_at(body, 0)).hash_bits(u32_at(body, 8));
    let builder = builder.hasher(KeyHasher::siphash13(key)).when_full(WhenFull::Grow);
    let mut filter = builder.build().ok()?;
    let hashes = (FEW_FRONT..end).step_by(size_of::<u64>()).map(|at| u64_at(body, at));
    let hashes: Vec<_> = hashes.map(KeyHash::from_u64).collect();
    filter.insert_batch(&hashes).ok()?;
    Some(filter.into())
}

/// The image of a filter.
pub(crate) fn encode(filter: &Generations) -> io::Result<Vec<u8>> {
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
        // A later version's.
        _ => return Err(io::ErrorKind::Unsupported.into()),
    };
    // Generations grow.
    let expansion = u32::from(kind == WINDOW || filter.template().when_full() != WhenFull::Refuse);
    let mut bytes = MAGIC.to_vec();
    bytes.extend([kind, algorithm].iter().flat_map(|field| field.to_le_bytes()));
    bytes.extend(key);
    let [bucket_size, max_iterations] = HINTS;
    let options = [bucket_size, max_iterations, expansion, 0];
    bytes.extend(options.iter().flat_map(|field| field.to_le_bytes()));
    // No item was removed since then.
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend(checksum(&bytes).to_le_bytes());
    filter.write_to(&mut bytes)?;
    Ok(bytes)
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

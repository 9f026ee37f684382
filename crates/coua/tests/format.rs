//! Files read by `docs/format.md` alone: a reference implementation of the reader, and of the place of every key.

use std::collections::BTreeMap;

use coua::{CuckooFilter, CuckooFilterBuilder, KeyHash, KeyHasher, WhenFull};

use coua_dev::instruction_sets;
use coua_dev::random::nth as hash;

fn checksum(bytes: &[u8]) -> u64 {
    KeyHasher::Xxh3 { seed: 0 }.hash(bytes).to_u64()
}

struct File {
    bytes: Vec<u8>,
}

impl File {
    fn number(&self, offset: u64, bytes: usize) -> u64 {
        let mut value = [0; 8];
        let at = offset as usize;
        value[..bytes].copy_from_slice(&self.bytes[at..at + bytes]);
        u64::from_le_bytes(value)
    }

    fn u32(&self, offset: u64) -> u64 {
        self.number(offset, 4)
    }

    fn u64(&self, offset: u64) -> u64 {
        self.number(offset, 8)
    }

    fn part(&self, offset: u64, length: u64) -> &[u8] {
        &self.bytes[offset as usize..(offset + length) as usize]
    }

    /// `count` bits of the segment at `offset`, bit by bit.
    fn bits(&self, offset: u64, first: u64, count: u64) -> u64 {
        (0..count).fold(0, |value, n| {
            let bit = first + n;
            let byte = self.bytes[(offset + bit / 8) as usize];
            value | u64::from(byte >> (bit % 8) & 1) << n
        })
    }
}

/// The numbers of section 4 for one segment.
#[derive(Clone, Copy)]
struct Segment {
    prefix: u64,
    depth: u64,
    m: u64,
    g: u64,
    t: u64,
    /// S.
    suffix_bits: u64,
    /// H, or 64.
    hash_bits: u64,
}

fn power(exponent: u64) -> u128 {
    1 << exponent
}

fn product(a: u64, b: u64) -> (u64, u64) {
    let wide = u128::from(a) * u128::from(b);
    ((wide >> 64) as u64, wide as u64)
}

impl Segment {
    fn of(file: &File, depth: u64, prefix: u64) -> Self {
        let (m, base, g, bits) = (file.u64(200), file.u32(208), file.u32(212), file.u32(216));
        let cells = u128::from(m) * (power(g) - 1);
        let (t, hash_bits) = if file.u32(48) == 0 {
            let t = (0..64).find(|&t| cells << t >= power(bits - depth));
            (t.expect("some width is wide enough"), bits)
        } else {
            (base + bits - depth, 64)
        };
        let suffix_bits = hash_bits - depth;
        Self { prefix, depth, m, g, t, suffix_bits, hash_bits }
    }

    /// Primary bucket and fingerprint.
    fn place(&self, hash: u64) -> (u64, u64) {
        let known = hash & (u64::MAX << (64 - self.hash_bits));
        let (primary, r) = product(known << self.depth, self.m);
        let top = (u128::from(r) >> (64 - self.t)) as u64;
        let (low, _) = product(r << self.t, (1 << self.g) - 1);
        (primary, (top << self.g) + low + 1)
    }

    fn offset(&self, fingerprint: u64) -> u64 {
        ((fingerprint.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) * self.m) >> 32
    }

    fn representative(&self, primary: u64, fingerprint: u64) -> u64 {
        let range = power(self.g) - 1;
        let (top, low) = (fingerprint >> self.g, u128::from(fingerprint) & range);
        let c = (u128::from(primary) * power(self.t) + u128::from(top)) * range + low - 1;
        let cells = u128::from(self.m) * range * power(self.t);
        let smallest = (c << self.suffix_bits).div_ceil(cells) as u64;
        self.prefix + (smallest << (64 - self.depth - self.suffix_bits))
    }

    /// The value of a slot of the segment at `offset`.
    fn value(&self, file: &File, offset: u64, slot: u64) -> u64 {
        let width = self.slot_bits();
        if width <= 16 {
            return file.bits(offset, slot * width, width);
        }
        let (bucket, slot) = (slot / 4 * self.bucket_bits(), slot % 4);
        let low = if self.bucket_bits().is_multiple_of(8) { 16 } else { 14 };
        let (rest, rests) = (width - low, bucket + 4 * low);
        file.bits(offset, bucket + slot * low, low)
            | file.bits(offset, rests + slot * rest, rest) << low
    }

    /// From one bucket to the next.
    fn bucket_bits(&self) -> u64 {
        let bits = 4 * self.slot_bits();
        let padded = bits.next_multiple_of(8);
        if bits > 64 && 34 * (padded - bits) <= bits { padded } else { bits }
    }

    fn slot_bits(&self) -> u64 {
        self.t + self.g + 1
    }
}

/// Checks the rules of sections 1, 2, 5 and 6, and returns the segments with their offsets.
fn checked(file: &File) -> Vec<(Segment, u64)> {
    assert_eq!(file.part(0, 8), b"\x89COUA\r\n\x1a");
    assert_eq!((file.number(8, 2), file.number(10, 2), file.u32(12)), (1, 1, 192));
    assert_eq!((file.u32(16), file.u64(184)), (0, checksum(file.part(0, 184))));
    assert_eq!((file.u32(40), file.u32(44)), (0, 4));
    // No window, and one part.
    assert_eq!((file.u32(60), file.u64(112), file.u64(120), file.u64(128)), (1, 0, 0, 0));
    assert!(file.part(136, 48).iter().chain(file.part(32, 8)).all(|&byte| byte == 0));
    assert_eq!((file.u64(192), file.u32(220)), (0, 0));
    let (segments, entries, length) = (file.u64(72), file.u64(80), file.u64(104));
    assert_eq!((file.u64(224), file.u64(232)), (segments, entries));
    let (first, overflow, tables_end) = (file.u64(88), file.u64(96), 256 + 32 * segments);
    assert_eq!(length, file.bytes.len() as u64);
    assert_eq!(first, tables_end.next_multiple_of(64));
    assert_eq!(length, overflow + 24 * entries + 32);
    assert!(file.part(tables_end, first - tables_end).iter().all(|&byte| byte == 0));
    let trailer = length - 32;
    assert_eq!(file.u64(trailer), checksum(file.part(192, 64 + 32 * segments)));
    assert_eq!(file.u64(trailer + 8), checksum(file.part(overflow, 24 * entries)));
    let whole = [file.part(0, 192), file.part(trailer, 16)].concat();
    assert_eq!(file.u64(trailer + 16), checksum(&whole));
    assert_eq!(file.part(trailer + 24, 8), b"COUA-END");
    let (mut offset, mut prefix) = (first, 0u64);
    let row = |number| {
        let row = 256 + 32 * number;
        let segment = Segment::of(file, file.u32(row), prefix);
        assert_eq!((file.u64(row + 16), file.u32(row + 12)), (offset, 0));
        let bits = file.u64(200) * segment.bucket_bits();
        let bytes = (bits.div_ceil(8) + 8).next_multiple_of(64);
        assert_eq!(file.u64(row + 24), checksum(file.part(offset, bytes)));
        let found = (segment, offset);
        offset += bytes;
        prefix = prefix.wrapping_add(power(64 - segment.depth) as u64);
        found
    };
    let rows = (0..segments).map(row).collect();
    assert_eq!((offset, prefix), (overflow, 0));
    rows
}

/// All items of the file as their cells' representatives, with their numbers of copies.
fn items(file: &File) -> BTreeMap<u64, u64> {
    let mut items = BTreeMap::new();
    for (number, (segment, offset)) in (0..).zip(checked(file)) {
        let mut used = 0;
        for slot in 0..4 * segment.m {
            let value = segment.value(file, offset, slot);
            if value == 0 {
                continue;
            }
            used += 1;
            let fingerprint = value >> 1;
            let back = if value & 1 == 1 { segment.m - segment.offset(fingerprint) } else { 0 };
            let primary = (slot / 4 + back) % segment.m;
            *items.entry(segment.representative(primary, fingerprint)).or_default() += 1;
        }
        assert_eq!(file.u32(256 + 32 * number + 4), used);
    }
    let (overflow, mut stored) = (file.u64(96), items.values().sum::<u64>());
    for entry in 0..file.u64(80) {
        let [hash, extra, overflowed] =
            [0, 8, 16].map(|field| file.u64(overflow + 24 * entry + field));
        *items.entry(hash).or_default() += extra + overflowed;
        stored += overflowed;
    }
    assert_eq!((items.values().sum::<u64>(), stored), (file.u64(240), file.u64(248)));
    items
}

/// The representative of a key's cell, found as a reader would.
fn expected(segments: &[(Segment, u64)], hash: u64) -> u64 {
    let after = segments.partition_point(|(segment, _)| segment.prefix <= hash);
    let segment = segments[after - 1].0;
    let (primary, fingerprint) = segment.place(hash);
    segment.representative(primary, fingerprint)
}

fn builders() -> Vec<CuckooFilterBuilder> {
    let builder = CuckooFilter::builder;
    vec![
        builder(),
        builder().hash_bits(27),
        builder().hash_bits(44).capacity(300_000),
        builder().hash_bits(38),
        builder().capacity(30_000).rate(1e-4).max_items(1_000_000),
        builder().capacity(150_000).rate(1e-5),
        builder().capacity(150_000).rate(1e-6),
        builder().capacity(150_000).rate(0.3).when_full(WhenFull::Refuse),
        builder().capacity(150_000).rate(1e-12).hasher(KeyHasher::Xxh3 { seed: 7 }),
    ]
}

#[test]
fn files_are_what_the_document_says() {
    for builder in builders() {
        let mut filter = builder.build().unwrap();
        let keys: Vec<u64> = (0..140_000).map(hash).chain([hash(0); 40]).collect();
        for &key in &keys {
            filter.insert(KeyHash::from_u64(key)).unwrap();
        }
        let mut bytes = Vec::new();
        filter.write_to(&mut bytes).unwrap();
        let file = File { bytes };
        let segments = checked(&file);
        let mut wanted = BTreeMap::new();
        for &key in &keys {
            *wanted.entry(expected(&segments, key)).or_default() += 1;
        }
        assert!(items(&file) == wanted, "{filter:?}");
    }
}

#[test]
fn a_secret_key_is_not_in_the_file() {
    let secret = *b"0123456789abcdef";
    let hasher = KeyHasher::SipHash13 { key: secret };
    let filter = CuckooFilter::builder().hasher(hasher).build().unwrap();
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).unwrap();
    assert!(!bytes.windows(16).any(|window| window == secret));
    let file = File { bytes };
    assert_eq!((file.u32(20), file.u64(24)), (2, hasher.hash(b"coua key check").to_u64()));
}

#[test]
#[cfg_attr(miri, ignore = "runs programs")]
fn all_of_this_with_fewer_instructions() {
    instruction_sets::run_again_with_fewer("format::", "all_of_this_with_fewer_instructions");
}

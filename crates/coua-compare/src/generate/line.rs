//! The n-th distinct line of each kind, and back: which line is this?
//!
//! Every line carries its index, scrambled by a bijection of 40-bit numbers, as eight characters.
//! So lines are distinct by construction, and a checker needs one bit per line to find lost and
//! repeated ones in any order.

use super::random::{mix, scale};

/// What lines look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// Web addresses, about 65 bytes with the line break, ten thousand hosts.
    Urls,
    /// Record numbers, 20 bytes with the line break.
    Short,
}

const ID_BITS: u32 = 40;
const ID_CHARACTERS: usize = 8;
const ID_MASK: u64 = (1 << ID_BITS) - 1;
const ODD: u64 = 0x9d_5c2f_1e6b;
/// `ODD * ODD_INVERSE = 1` modulo 2^40.
const ODD_INVERSE: u64 = inverse(ODD);
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

const HOSTS: u64 = 10_000;
const WORDS: [&str; 64] = [
    "about", "archive", "article", "atlas", "author", "bird", "blog", "book", "bridge", "catalog",
    "city", "cloud", "code", "comment", "data", "detail", "download", "earth", "event", "field",
    "forest", "garden", "guide", "harbour", "help", "history", "home", "image", "index", "island",
    "item", "journal", "library", "list", "market", "media", "meadow", "museum", "music", "news",
    "night", "ocean", "page", "paper", "photo", "place", "product", "project", "query", "recipe",
    "review", "river", "school", "search", "season", "station", "story", "summer", "theatre",
    "travel", "valley", "video", "weather", "winter",
];
const ENDINGS: [&str; 8] = [".com", ".org", ".net", ".de", ".fr", ".co.uk", ".io", ".info"];

impl Kind {
    /// Appends the line of this index, with its line break. Indices lie below 2^40.
    #[inline]
    pub(crate) fn write(self, seed: u64, index: u64, out: &mut Vec<u8>) {
        match self {
            Self::Urls => write_url(seed, index, out),
            Self::Short => write_short(seed, index, out),
        }
    }

    /// The index of a line without its line break, if this kind with this seed has such a line.
    pub(crate) fn index_of(self, seed: u64, line: &[u8]) -> Option<u64> {
        let id = match self {
            Self::Urls => {
                line.split(|&byte| byte == b'?').next()?.rsplit(|&byte| byte == b'/').next()
            }
            Self::Short => line.get(..ID_CHARACTERS),
        }?;
        let index = unscramble(digits(id)?);
        let mut expected = Vec::with_capacity(128);
        self.write(seed, index, &mut expected);
        (expected.strip_suffix(b"\n") == Some(line)).then_some(index)
    }
}

#[inline]
fn write_url(seed: u64, index: u64, out: &mut Vec<u8>) {
    let bits = mix(seed ^ mix(index));
    out.extend_from_slice(b"https://");
    write_host(scale(bits.rotate_left(32), HOSTS), out);
    out.push(b'/');
    out.extend_from_slice(word(bits).as_bytes());
    out.push(b'/');
    // One to four words: articles and products are named after what they are about.
    let words = 1 + (bits >> 6) % 4;
    for place in 0..words {
        if place > 0 {
            out.push(b'-');
        }
        out.extend_from_slice(word(bits >> (8 + 6 * place)).as_bytes());
    }
    out.push(b'/');
    write_digits(scramble(index), ID_CHARACTERS, out);
    match bits >> 61 {
        0 => out.extend_from_slice(b"?ref=newsletter"),
        1 => {
            out.extend_from_slice(b"?page=");
            write_digits(bits >> 50, 2, out);
        }
        _ => {}
    }
    out.push(b'\n');
}

fn write_host(host: u64, out: &mut Vec<u8>) {
    let bits = mix(host);
    if bits >> 63 == 0 {
        out.extend_from_slice(b"www.");
    }
    out.extend_from_slice(word(bits).as_bytes());
    out.push(b'-');
    out.extend_from_slice(word(bits >> 6).as_bytes());
    write_digits(host, 3, out);
    out.extend_from_slice(ENDINGS[(bits >> 12) as usize % ENDINGS.len()].as_bytes());
}

#[inline]
fn write_short(seed: u64, index: u64, out: &mut Vec<u8>) {
    write_digits(scramble(index), ID_CHARACTERS, out);
    out.push(b'-');
    write_digits(mix(seed ^ mix(index)), 10, out);
    out.push(b'\n');
}

fn word(bits: u64) -> &'static str {
    WORDS[bits as usize % WORDS.len()]
}

/// The low bits, five to a character.
#[inline]
fn write_digits(value: u64, characters: usize, out: &mut Vec<u8>) {
    let mut text = [0; 12];
    for (place, digit) in text[..characters].iter_mut().enumerate() {
        *digit = DIGITS[(value >> (5 * place)) as usize % DIGITS.len()];
    }
    out.extend_from_slice(&text[..characters]);
}

fn digits(text: &[u8]) -> Option<u64> {
    if text.len() != ID_CHARACTERS {
        return None;
    }
    text.iter().rev().try_fold(0, |value, byte| {
        let digit = DIGITS.iter().position(|digit| digit == byte)?;
        Some((value << 5) | digit as u64)
    })
}

/// A bijection of 40-bit numbers: two rounds of odd factor and shift.
#[inline]
fn scramble(index: u64) -> u64 {
    let half = ID_BITS / 2;
    let value = (index & ID_MASK).wrapping_mul(ODD) & ID_MASK;
    let value = (value ^ (value >> half)).wrapping_mul(ODD) & ID_MASK;
    value ^ (value >> half)
}

fn unscramble(value: u64) -> u64 {
    let half = ID_BITS / 2;
    let value = (value ^ (value >> half)).wrapping_mul(ODD_INVERSE) & ID_MASK;
    (value ^ (value >> half)).wrapping_mul(ODD_INVERSE) & ID_MASK
}

/// The inverse of an odd number modulo 2^64, by Newton's method: each turn doubles the right bits.
const fn inverse(odd: u64) -> u64 {
    let mut result = odd;
    let mut turn = 0;
    while turn < 5 {
        result = result.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(result)));
        turn += 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::{Kind, scramble, unscramble};

    fn line(kind: Kind, seed: u64, index: u64) -> String {
        let mut out = Vec::new();
        kind.write(seed, index, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn golden_lines() {
        assert_eq!(
            line(Kind::Urls, 1, 0),
            "https://search-pagejk0.co.uk/museum/bird-photo-about-author/00000000\n"
        );
        assert_eq!(
            line(Kind::Urls, 1, 2),
            "https://www.author-bird472.io/product/code-harbour/0w8yhhpk?page=gx\n"
        );
        assert_eq!(line(Kind::Short, 1, 1), "2n771rwg-agh00bgd83\n");
    }

    #[test]
    fn the_mean_length_makes_twenty_million_lines_of_1_3_gigabytes() {
        let mut out = Vec::new();
        (0..100_000).for_each(|index| Kind::Urls.write(1, index, &mut out));
        let mean = out.len() as f64 / 100_000.0;
        assert!((64.0..66.0).contains(&mean), "{mean}");
        assert_eq!(line(Kind::Short, 1, 7).len(), 20);
    }

    #[test]
    fn scramble_is_a_bijection() {
        for index in (0..1 << 40).step_by((1 << 26) + 12_345).chain([0, 1, (1 << 40) - 1]) {
            assert_eq!(unscramble(scramble(index)), index);
        }
    }

    #[test]
    fn every_line_tells_its_index_and_altered_lines_do_not() {
        for kind in [Kind::Urls, Kind::Short] {
            for index in (0..1000).chain([1 << 30, (1 << 40) - 1]) {
                let text = line(kind, 9, index);
                let text = text.trim_end();
                assert_eq!(kind.index_of(9, text.as_bytes()), Some(index));
                assert_eq!(kind.index_of(8, text.as_bytes()), None);
                assert_eq!(kind.index_of(9, &text.as_bytes()[1..]), None);
            }
            assert_eq!(kind.index_of(9, b""), None);
        }
    }
}

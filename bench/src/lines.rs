//! Lines to de-duplicate, the same on every machine, and a check of the result.
//!
//! Every web address carries its index, scrambled by a bijection of 40-bit
//! numbers, as eight characters. So lines are distinct by construction, and the checker needs one bit per line
//! to find lost and repeated ones in any order.

use std::fmt;
use std::io::{self, BufRead, Write};
use std::num::NonZero;
use std::thread;

use coua_bench::keys::mix;

const ID_CHARACTERS: usize = 8;
/// Lines that a thread generates at a time: some megabytes.
const BLOCK_LINES: u64 = 1 << 16;
const ID_MASK: u64 = (1 << (5 * ID_CHARACTERS)) - 1;
const ODD: u64 = 0x9d_5c2f_1e6b;
/// `ODD * ODD_INVERSE` = 1 modulo 2^40.
const ODD_INVERSE: u64 = inverse(ODD);
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const HOSTS: u64 = 10_000;
const WORDS: [&str; 16] = [
    "about", "archive", "author", "bridge", "catalog", "download", "event", "garden", "history",
    "library", "market", "museum", "product", "recipe", "station", "weather",
];

/// The number of distinct lines among `count` lines.
fn distinct(count: u64) -> u64 {
    count * 7 / 10
}

/// The index of the line at this place. Earlier lines are more popular: a repeat chooses an earlier line with a
/// probability proportional to 1 / rank, in steps of powers of two.
fn index_at(place: u64) -> u64 {
    let new = distinct(place + 1);
    if new > distinct(place) || new == 0 { new.saturating_sub(1) } else { earlier(place, new) }
}

/// Writes `count` lines, generated on all processors.
pub(crate) fn write(count: u64, mut out: impl Write) -> io::Result<()> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let mut blocks = vec![Vec::new(); threads];
    let mut starts = (0..count).step_by(BLOCK_LINES as usize).peekable();
    while starts.peek().is_some() {
        thread::scope(|scope| {
            for block in &mut blocks {
                block.clear();
                let start = starts.next().unwrap_or(count);
                let end = count.min(start.saturating_add(BLOCK_LINES));
                scope.spawn(move || {
                    (start..end).for_each(|place| append(index_at(place), block));
                });
            }
        });
        blocks.iter().try_for_each(|block| out.write_all(block))?;
    }
    Ok(())
}

/// An index below `new`, with small ones more likely.
fn earlier(line: u64, new: u64) -> u64 {
    let steps = u64::from(new.ilog2()) + 1;
    let floor = 1 << (mix(line) % steps);
    (floor + mix(!line) % floor).min(new) - 1
}

/// Appends the line of this index, with its line break.
fn append(index: u64, out: &mut Vec<u8>) {
    let bits = mix(index);
    let word = |place: u32| WORDS[(bits >> place) as usize % WORDS.len()].as_bytes();
    let host = bits.rotate_left(32) % HOSTS;
    out.extend_from_slice(b"https://www.");
    for text in [WORDS[host as usize % WORDS.len()].as_bytes(), b"-"] {
        out.extend_from_slice(text);
    }
    append_digits(host, 3, out);
    out.extend_from_slice(b".org/");
    for text in [word(0), b"/", word(4), b"-", word(8)] {
        out.extend_from_slice(text);
    }
    // One to three words, like the titles of articles.
    for place in 0..(bits >> 60) % 3 {
        out.push(b'-');
        out.extend_from_slice(word(12 + 4 * place as u32));
    }
    out.push(b'/');
    append_digits(scramble(index), ID_CHARACTERS, out);
    out.push(b'\n');
}

/// The low bits, five per character.
fn append_digits(value: u64, characters: usize, out: &mut Vec<u8>) {
    out.extend((0..characters).map(|place| DIGITS[(value >> (5 * place)) as usize % DIGITS.len()]));
}

/// The index of a line without its line break; `None` if there is no such line.
fn index_of(line: &[u8], expected: &mut Vec<u8>) -> Option<u64> {
    let id = line.rsplit(|&byte| byte == b'/').next().filter(|id| id.len() == ID_CHARACTERS)?;
    let value = id.iter().rev().try_fold(0, |value, byte| {
        Some((value << 5) | DIGITS.iter().position(|digit| digit == byte)? as u64)
    })?;
    let index = unscramble(value);
    expected.clear();
    append(index, expected);
    (expected.strip_suffix(b"\n") == Some(line)).then_some(index)
}

/// A bijection of 40-bit numbers: two rounds of an odd factor and a shift.
fn scramble(index: u64) -> u64 {
    let round = |value: u64| {
        let value = value.wrapping_mul(ODD) & ID_MASK;
        value ^ (value >> 20)
    };
    round(round(index & ID_MASK))
}

fn unscramble(value: u64) -> u64 {
    let round = |value: u64| (value ^ (value >> 20)).wrapping_mul(ODD_INVERSE) & ID_MASK;
    round(round(value))
}

/// The inverse of an odd number modulo 2^64, by Newton's method: each round doubles the correct bits.
const fn inverse(odd: u64) -> u64 {
    let mut result = odd;
    let mut turn = 0;
    while turn < 5 {
        result = result.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(result)));
        turn += 1;
    }
    result
}

/// The errors of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Distinct lines of the input that the output lacks.
    lost: u64,
    /// Lines that the output repeats.
    left_over: u64,
    /// Lines that are not in the input.
    strange: u64,
}

impl Verdict {
    /// Reads an output that should contain each distinct line of `count` lines once, in any order.
    pub(crate) fn of(count: u64, mut output: impl BufRead) -> io::Result<Self> {
        let lines = distinct(count);
        let mut verdict = Self { lost: lines, left_over: 0, strange: 0 };
        let mut seen = vec![false; lines as usize];
        let (mut line, mut space) = (Vec::new(), Vec::new());
        while output.read_until(b'\n', &mut line)? > 0 {
            let index = index_of(line.strip_suffix(b"\n").unwrap_or(&line), &mut space);
            match index.and_then(|index| seen.get_mut(index as usize)) {
                None => verdict.strange += 1,
                Some(true) => verdict.left_over += 1,
                Some(new) => {
                    *new = true;
                    verdict.lost -= 1;
                }
            }
            line.clear();
        }
        Ok(verdict)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lost, left_over, strange } = self;
        writeln!(out, "lost {lost}\nleft_over {left_over}\nstrange {strange}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{BLOCK_LINES, Verdict, distinct, write};

    #[test]
    fn lost_left_over_and_strange_lines_are_found() {
        let mut input = Vec::new();
        write(1000, &mut input).expect("memory takes everything");
        let repeats = Verdict::of(1000, &*input).expect("lines");
        assert_eq!(repeats, Verdict { lost: 0, left_over: 300, strange: 0 });

        let mut seen = HashSet::new();
        let rows = input.split_inclusive(|&byte| byte == b'\n');
        let distinct: Vec<&[u8]> = rows.filter(|row| seen.insert(*row)).collect();
        assert_eq!(distinct.len(), 700);
        let mut bad = distinct[..690].to_vec();
        bad.extend([distinct[3], b"http://elsewhere/\n", b"no line break"]);
        let found = Verdict::of(1000, &*bad.concat()).expect("lines");
        assert_eq!(found, Verdict { lost: 10, left_over: 1, strange: 2 });
    }

    #[test]
    fn threads_write_every_line_once() {
        let (count, mut input) = (3 * BLOCK_LINES + 7, Vec::new());
        write(count, &mut input).expect("memory takes everything");
        let lines = || input.split_inclusive(|&byte| byte == b'\n');
        assert_eq!(lines().count() as u64, count);
        assert_eq!(lines().collect::<HashSet<_>>().len() as u64, distinct(count));
    }
}

//! What is wrong with an output: lines lost, left over, or never seen.

use std::io::{self, BufRead};

use serde::{Deserialize, Serialize};

use crate::generate::Lines;

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Verdict {
    /// Distinct lines of the input that the output lacks.
    pub(crate) lost: u64,
    /// Lines that the output has once more than it should.
    pub(crate) left_over: u64,
    /// Lines that the input does not have.
    pub(crate) strange: u64,
}

/// One bit for each distinct line, so that checking takes little memory in any order.
struct Seen(Vec<u64>);

impl Seen {
    /// Notes the line; false if it was noted before.
    fn note(&mut self, index: u64) -> bool {
        let (word, bit) = (&mut self.0[(index / 64) as usize], 1 << (index % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}

impl Verdict {
    /// Reads an output that should have every distinct line once.
    ///
    /// # Errors
    ///
    /// Those of the reader.
    pub(crate) fn of(lines: &Lines, mut output: impl BufRead) -> io::Result<Self> {
        let mut verdict = Self { lost: lines.unique(), ..Self::default() };
        let mut seen = Seen(vec![0; lines.unique().div_ceil(64) as usize]);
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line)? > 0 {
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            match lines.kind.index_of(lines.seed, text) {
                Some(index) if index >= lines.unique() => verdict.strange += 1,
                None => verdict.strange += 1,
                Some(index) if seen.note(index) => verdict.lost -= 1,
                Some(_) => verdict.left_over += 1,
            }
            line.clear();
        }
        Ok(verdict)
    }

    /// Reads an output that should have every line of the input, as often as that has it.
    ///
    /// # Errors
    ///
    /// Those of the reader.
    pub(crate) fn of_all(lines: &Lines, mut output: impl BufRead) -> io::Result<Self> {
        let mut count = 0;
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line)? > 0 {
            count += 1;
            line.clear();
        }
        let (lost, left_over) =
            (lines.count.saturating_sub(count), count.saturating_sub(lines.count));
        Ok(Self { lost, left_over, strange: 0 })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Verdict;
    use crate::generate::{Kind, Lines};

    #[test]
    fn lost_left_over_and_strange_lines_are_found() {
        let lines = Lines { kind: Kind::Urls, count: 1000, repeats: 30, seed: 4 };
        let mut input = Vec::new();
        lines.write_to(&mut input).unwrap();
        let repeats = Verdict::of(&lines, &*input).unwrap();
        assert_eq!(repeats, Verdict { lost: 0, left_over: 300, strange: 0 });
        assert_eq!(Verdict::of_all(&lines, &*input).unwrap(), Verdict::default());

        let mut seen = HashSet::new();
        let rows = input.split_inclusive(|&byte| byte == b'\n');
        let distinct: Vec<&[u8]> = rows.filter(|row| seen.insert(*row)).collect();
        assert_eq!(Verdict::of(&lines, &*distinct.concat()).unwrap(), Verdict::default());
        let mut bad = distinct[..690].to_vec();
        bad.extend([distinct[3], b"http://elsewhere/\n", b"no line break"]);
        let found = Verdict::of(&lines, &*bad.concat()).unwrap();
        assert_eq!(found, Verdict { lost: 10, left_over: 1, strange: 2 });
    }
}

//! Lines to de-duplicate: any number, any share of repeats, the same on every machine.

mod line;
mod order;
mod random;

use std::io::{self, Write};

pub(crate) use line::Kind;
pub(crate) use order::Order;
pub(crate) use random::{Random, mix, scale};

/// A file of generated lines.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Lines {
    /// What the lines look like.
    #[arg(value_enum)]
    pub(crate) kind: Kind,
    /// Lines to write.
    #[arg(long = "lines", default_value_t = 20_000_000, value_name = "N")]
    pub(crate) count: u64,
    /// Lines in a hundred that repeat an earlier one.
    #[arg(long, default_value_t = 30, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..100))]
    pub(crate) repeats: u8,
    /// Another seed gives other lines and another order.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
}

impl Lines {
    /// How many lines repeat an earlier one.
    pub(crate) fn repeated(&self) -> u64 {
        let exact = u128::from(self.count) * u128::from(self.repeats) / 100;
        (exact as u64).min(self.count.saturating_sub(1))
    }

    /// How many distinct lines there are: those of index 0 to this, less one.
    pub(crate) fn unique(&self) -> u64 {
        self.count - self.repeated()
    }

    /// Writes the file. About 20 ns a line and the time of the output.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub(crate) fn write_to(&self, mut out: impl Write) -> io::Result<()> {
        const BLOCK: usize = 1 << 20;
        let mut block = Vec::with_capacity(BLOCK + 256);
        for index in Order::new(self.seed, self.count, self.repeated()) {
            self.kind.write(self.seed, index, &mut block);
            if block.len() >= BLOCK {
                out.write_all(&block)?;
                block.clear();
            }
        }
        out.write_all(&block)?;
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Kind, Lines};

    #[test]
    fn a_file_has_the_stated_lines_and_repeats_and_never_changes() {
        for kind in [Kind::Urls, Kind::Short] {
            let lines = Lines { kind, count: 10_000, repeats: 30, seed: 1 };
            let mut file = Vec::new();
            lines.write_to(&mut file).unwrap();
            let text = String::from_utf8(file.clone()).unwrap();
            assert_eq!(text.lines().count(), 10_000);
            assert_eq!(text.lines().collect::<HashSet<_>>().len(), 7_000);
            let golden = match kind {
                Kind::Urls => 11_136_747_845_946_160_888,
                Kind::Short => 15_198_115_078_538_340_146,
            };
            assert_eq!(xxhash_rust::xxh3::xxh3_64(&file), golden);
        }
    }
}

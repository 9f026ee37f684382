//! `coua info`.

use super::Line;
use super::secret::SecretArgs;
use super::window::NowArgs;
use crate::commands::info;
use crate::terminal::exit::Exit;
use crate::terminal::figures::Format;
use crate::terminal::message::Failure;
use std::path::PathBuf;

/// Describe a filter file
///
/// Takes the time of a moment whatever the size: of a large file little more than the header is read. `coua verify`
/// reads and checks all of it.
///
/// Fields of the JSON object: `file`, `file_bytes`, `snapshot_bytes` of it, and `log_bytes` of the changes
/// after the snapshot (also called `journal_bytes`), in so many `transactions`; `uncommitted_bytes` at its
/// end that do not count, because their commit was interrupted, or is being written; `items` in it (every copy counted), `capacity`: items that its memory is planned for,
/// `max_items` up to which its rate is stated to hold (null: no limit), `rate_at_max_items`,
/// `false_positive_rate` now, `hash_bits` remembered of every key (the rate is `items` / 2 to that
/// power), `load` (slots in use, 0 to 1), `memory_bytes`, `bits_per_item`, `layout` (buckets, windows),
/// `slots`, `slots_per_bucket`, `slot_bits`, `segments`, `when_full` (grow, error, exceed), `hash`
/// (xxh3, siphash13), `seed` (null for siphash13).
///
/// A filter with --window has also `window`: `clock` (arrival, time-field, items), `length` and
/// `generation_length` (milliseconds, or items: the first is how long a record is remembered at least,
/// both together how long at most), `generations` that the window is long, `present` (milliseconds
/// since 1970, when the youngest generation begins; or items so far); and `generations`, the oldest
/// first, each with its `number`, `from` and `until` (in the same units), `items`, `load`,
/// `memory_bytes`. All other figures are those of all generations together.
///
/// `runs` that the filter remembers for --resume, those that have not ended first, and the youngest first: the
/// `command` (null: one of a later version), whether it `has_ended`, the `records` done, its `inputs` and
/// `outputs`, each with its `file` and the `offset` (bytes) up to which it was done, inputs also with their
/// `size` now; and the `obstacle`, if it cannot be resumed (null: nothing is in the way). `unfinished_run`
/// is the first of them, if that was interrupted, or is still at work (null: there is none).
///
/// A filter on a server has `server` (its address), `shards`, `items` and `items_deleted`,
/// `fewest_items_in_a_shard`, `most_items_in_a_shard`, `false_positive_rate`, `hash_bits`, `load`,
/// `memory_bytes`, `bits_per_item`, `slots`, `when_full` (exceed, error). The rate, `hash_bits` and `load` are
/// null where the filter has RedisBloom's layout.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The filter file, or the address of a filter on a server: `valkey://HOST[:PORT]/NAME[?shards=N]`
    #[arg(value_name = "FILTER")]
    file: PathBuf,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    now: NowArgs,
}

impl Args {
    pub(super) fn run(&self, line: Line<'_>) -> Result<Exit, Failure> {
        let location = line.location(&self.file)?;
        let format = if self.json { Format::Json } else { Format::Text };
        info::run(&location, &self.secret.secret(), self.now.present(), format)
    }
}

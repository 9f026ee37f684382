//! Whether there is room in a filter's journal for how far a run is.

use crate::stats::text::grouped;
use coua_store::Progress;
use std::path::PathBuf;

/// Bytes for an input beside its name, its figures in the note among them.
const INPUT: u64 = 128;
/// Bytes for everything else: options, figures, outputs.
const REST: u64 = 1 << 20;

/// Says what is wrong, if these are too many inputs.
pub(super) fn lack(inputs: &[PathBuf]) -> Option<String> {
    let names: u64 = inputs.iter().map(|path| path.as_os_str().len() as u64).sum();
    let bytes = names + inputs.len() as u64 * INPUT + REST;
    let most = Progress::MOST_BYTES;
    (bytes > most).then(|| {
        format!(
            "how far a run is in {} inputs takes up to {} bytes with their names, of {} that are kept: \
             give fewer at a time, or begin in a folder with a shorter name",
            grouped(inputs.len() as u64),
            grouped(bytes),
            grouped(most)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_input_that_fits() {
        let name = "x".repeat(572);
        let inputs = |number| vec![PathBuf::from(&name); number];
        let most = (Progress::MOST_BYTES - REST) as usize / 700;
        assert_eq!(lack(&inputs(most)), None);
        assert!(lack(&inputs(most + 1)).unwrap().starts_with("how far a run is in 94,"));
    }
}

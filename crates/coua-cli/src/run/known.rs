//! The files of `--known`: records, and filters.

use super::KeyCensus;
use super::job::InputPlan;
use crate::clock;
use crate::filter::{FilterSpec, filter_file};
use crate::input::Means;
use crate::key::{Hashing, Known, KnownFilter, Mixing};
use crate::output::is_filter;
use crate::pipeline::Batch;
use crate::terminal::{Failure, Result, Verbosity};
use coua::window::Generations;
use coua::{CuckooFilter, KeyHasher};
use std::path::{Path, PathBuf};

impl InputPlan {
    /// Makes the keys in these files, which are records or filters, count as seen.
    pub(super) fn know(
        &mut self,
        paths: &[PathBuf],
        hasher: KeyHasher,
        spec: &FilterSpec,
        verbosity: Verbosity,
    ) -> Result<()> {
        let (filters, records): (Vec<_>, Vec<_>) = paths.iter().partition(|path| is_filter(path));
        let mut known = Vec::new();
        for path in filters {
            known.push(self.known_filter(path, hasher, spec)?);
        }
        if !records.is_empty() {
            let files: Vec<PathBuf> = records.into_iter().cloned().collect();
            let records = self.known_records(&files, hasher, verbosity)?;
            known.push(KnownFilter::new(records, None));
        }
        self.hashing.known = Known(known.into());
        Ok(())
    }

    fn known_filter(
        &self,
        path: &Path,
        hasher: KeyHasher,
        spec: &FilterSpec,
    ) -> Result<KnownFilter> {
        let mut view = filter_file::read(path, &spec.secret)?;
        if view.filter.hasher() != hasher {
            let reason = "--known: the hash of its keys differs from that of this run; use the same --secret, or a filter with the same seed";
            return Err(Failure::at(path.display(), reason));
        }
        let mut hint = None;
        if let Some(keys) = crate::key::KeySpec::of(&view.notes, path.display())? {
            self.hashing.keys.normalize.check_same(&keys.normalize, path.display())?;
            let own = self.key_spec();
            own.check_parts(&keys, path.display())?;
            own.check_records(&keys, path.display())?;
            hint = own.missing_finders(&keys);
        }
        clock::advance(&mut view.filter);
        let hint = hint.map(|hint| format!("{}: contained no record: {hint}", path.display()));
        Ok(KnownFilter::new(view.filter, hint))
    }

    fn known_records(
        &self,
        paths: &[PathBuf],
        hasher: KeyHasher,
        verbosity: Verbosity,
    ) -> Result<Generations> {
        let mut filter = CuckooFilter::builder().hasher(hasher).build().map_err(no_memory)?;
        let mut hashing = Hashing { hasher, known: Known::default(), ..self.hashing.clone() };
        let inputs = self.inputs.others(paths);
        inputs.survey()?;
        let means = Means { verbosity, ..Means::new()? };
        let mut reader = self.reader(inputs, Mixing::Allowed, means);
        let (mut batch, mut census) = (Batch::default(), KeyCensus::default());
        while reader.next_block(&mut batch.block).map_err(|failure| {
            if hashing.keys.csv().is_some() { with_remedy(failure) } else { failure }
        })? {
            hashing.hash(&mut batch.block, &mut batch.keys);
            if let Some(failure) = batch.block.failure.take() {
                return Err(failure);
            }
            census.count(&batch, batch.block.len());
            filter.insert_unique_batch(&batch.keys.hashes).map_err(no_memory)?;
        }
        census.check(&hashing).map_err(with_remedy)?;
        if let Some(first) = &census.first {
            let lacking = census.lacking();
            verbosity.say(format_args!("--known: {lacking} cannot be known (first: {first})"));
        }
        Ok(filter.into())
    }
}

/// The failure of a file of --known that has no keys as the inputs have them.
fn with_remedy(failure: Failure) -> Failure {
    match failure {
        Failure::At { exit, name, reason } => {
            let remedy = "for keys in another form, make a filter of them (`coua add FILTER`), and name that";
            Failure::At { exit, name, reason: format!("{reason}; {remedy}") }
        }
        closed @ Failure::OutputClosed => closed,
    }
}

fn no_memory(error: impl std::fmt::Display) -> Failure {
    Failure::at("--known", error)
}

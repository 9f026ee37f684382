//! Where `coua dedup` writes.

use crate::input::block::Block;
use crate::message::Failure;
use crate::output::{Opening, Output, Settled};
use crate::pipeline::Deliver;
use crate::resume::Interrupted;
use coua::Insertion;
use std::path::{Path, PathBuf};

/// What to print where.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputArgs {
    /// Write to FILE instead of standard output
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print the repeats instead of the first occurrences
    #[arg(short = 'd', long, conflicts_with = "tee_dups")]
    repeats: bool,

    /// Also write the repeats to FILE
    #[arg(long, value_name = "FILE")]
    tee_dups: Option<PathBuf>,
}

impl OutputArgs {
    pub(super) fn open(&self, opening: Opening<'_>) -> Result<Outputs, Failure> {
        let main = Output::open(self.output.as_deref(), opening)?;
        let paths = self.paths().into_iter().map(Path::to_owned).collect();
        let Some(path) = &self.tee_dups else { return Ok(Outputs { main, tee: None, paths }) };
        let tee = Output::open(Some(path), opening)?;
        if tee.identity().is_some() && tee.identity() == main.identity() {
            return Err(Failure::at(path.display(), "is the output as well: name another file"));
        }
        Ok(Outputs { main, tee: Some(tee), paths })
    }

    /// The outputs of an interrupted run, which are these.
    pub(super) fn go_on(
        &self,
        run: &Interrupted,
        opening: Opening<'_>,
    ) -> Result<Outputs, Failure> {
        let mut outputs = run.outputs.iter().enumerate().map(|(number, place)| {
            let mut output = Output::go_on(place, opening)?;
            if run.note.owes_separator.get(number) == Some(&true) {
                output.owe_separator();
            }
            Ok(output)
        });
        let main = outputs.next().unwrap_or_else(|| Output::open(None, opening))?;
        let tee = outputs.next().transpose()?;
        Ok(Outputs { main, tee, paths: self.paths().into_iter().map(Path::to_owned).collect() })
    }

    /// The names of the outputs; standard output has none.
    pub(super) fn paths(&self) -> Vec<&Path> {
        self.output.iter().chain(&self.tee_dups).map(PathBuf::as_path).collect()
    }

    /// What goes to the main output.
    pub(super) fn wanted(&self) -> Insertion {
        if self.repeats { Insertion::AlreadyPresent } else { Insertion::Inserted }
    }
}

#[derive(Debug)]
pub(super) struct Outputs {
    main: Output,
    /// For the repeats.
    pub(super) tee: Option<Output>,
    paths: Vec<PathBuf>,
}

impl Outputs {
    fn all(&mut self) -> impl Iterator<Item = &mut Output> {
        std::iter::once(&mut self.main).chain(&mut self.tee)
    }

    pub(super) fn each(
        &mut self,
        act: impl Fn(&mut Output) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.all().try_for_each(act)
    }

    /// Whether all of them are files with names, so that a run can be gone on with.
    pub(super) fn are_files(&mut self) -> bool {
        self.all().all(|output| output.identity().is_some())
            && self.all().count() == self.paths.len()
    }
}

impl Deliver for Outputs {
    fn deliver(&mut self, block: &Block) -> Result<(), Failure> {
        self.main.write_selected(block, &block.selected)?;
        match &mut self.tee {
            Some(tee) => tee.write_selected(block, &block.also_selected),
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.each(Output::flush)
    }

    fn settle(&mut self) -> Result<Settled, Failure> {
        let mut settled = Settled::default();
        let paths = std::mem::take(&mut self.paths);
        let mut pairs = self.all().zip(&paths);
        let done = pairs.try_for_each(|(output, path)| output.settle(path, &mut settled));
        drop(pairs);
        self.paths = paths;
        done.map(|()| settled)
    }
}

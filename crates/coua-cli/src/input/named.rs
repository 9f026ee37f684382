//! Inputs that are files with names, and their compression.

use crate::input::decompress::compression_of;
use crate::input::{Inputs, Source};
use crate::platform::descriptor;
use std::fs;
use std::path::Path;

/// An input that is a file with a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputFile<'a> {
    pub(crate) path: &'a Path,
    /// The name of its compression format, if it is compressed.
    pub(crate) compression: Option<&'static str>,
}

impl Inputs {
    /// All inputs, or the name of one that is not a named file. Skips those that cannot be read.
    pub(crate) fn named(&self) -> Result<Vec<InputFile<'_>>, String> {
        let mut files = Vec::new();
        for source in &self.sources {
            let Source::File(path) = source else { return Err(source.name()) };
            let is_other = fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir());
            if is_other || descriptor(path).is_some() {
                return Err(source.name());
            }
            files.push(InputFile { path, compression: compression_of(path).unwrap_or(None) });
        }
        Ok(files)
    }
}

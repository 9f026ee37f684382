//! The names and compression of outputs, one per input.

use crate::input::InputFile;
use crate::output::compress::OutputCompression;
use crate::terminal::{Failure, Result};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Component, Path, PathBuf};

/// File extensions of compressed files.
const ENDINGS: [&str; 6] = ["gz", "zst", "bgz", "bz2", "xz", "lz4"];

/// A folder with one output per input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutputFolder {
    /// In the order of the inputs.
    pub(super) paths: Vec<PathBuf>,
    /// The compression of each.
    pub(super) compressions: Vec<OutputCompression>,
}

impl OutputFolder {
    /// Each output has the name of its input relative to the deepest folder that contains all inputs, and the
    /// compression of its input, or the `given` one.
    pub(crate) fn new(
        folder: &Path,
        inputs: &[InputFile<'_>],
        given: Option<OutputCompression>,
    ) -> Result<Self> {
        let full = inputs.iter().map(|input| lexical(input.path)).collect::<Result<Vec<_>>>()?;
        let common = common_folder(&full);
        let mut made = Self { paths: Vec::new(), compressions: Vec::new() };
        let mut firsts = HashMap::new();
        for (input, full) in inputs.iter().zip(&full) {
            let compression = compression(input, given)?;
            let name = name(full.strip_prefix(&common).unwrap_or(full), compression, given);
            let path = folder.join(name);
            match firsts.entry(path.clone()) {
                Entry::Vacant(place) => drop(place.insert((input.path, full))),
                Entry::Occupied(first) => {
                    let (first, path) = (first.get(), path.display());
                    let remedy =
                        if first.1 == full { "name it once" } else { "rename one of them" };
                    let reason = format!(
                        "--output-dir: its output would be {path}, like that of {}; {remedy}",
                        first.0.display()
                    );
                    return Err(Failure::at(input.path.display(), reason));
                }
            }
            made.paths.push(path);
            made.compressions.push(compression);
        }
        Ok(made)
    }

    /// The compression of the output with this absolute name.
    pub(super) fn compression(&self, path: &Path) -> Option<OutputCompression> {
        let is_it = |own: &PathBuf| {
            own.file_name() == path.file_name()
                && std::path::absolute(own).is_ok_and(|own| own == path)
        };
        let place = self.paths.iter().position(is_it)?;
        self.compressions.get(place).copied()
    }
}

/// The absolute name without `.` and `..`, without following links.
fn lexical(path: &Path) -> Result<PathBuf> {
    let absolute =
        std::path::absolute(path).map_err(|error| Failure::io(path.display(), &error))?;
    let mut clean = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    Ok(clean)
}

/// The deepest folder that contains all files.
fn common_folder(files: &[PathBuf]) -> PathBuf {
    let mut folders = files.iter().filter_map(|file| file.parent());
    let Some(first) = folders.next() else { return PathBuf::new() };
    folders.fold(first.to_owned(), |common, folder| {
        let both = common.components().zip(folder.components());
        both.take_while(|(one, other)| one == other).map(|(one, _)| one).collect()
    })
}

/// The extension of a compressed file, if the name has one.
fn ending(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?;
    ENDINGS.into_iter().find(|ending| extension.eq_ignore_ascii_case(ending))
}

/// The compression of an output. For an empty input, its name decides.
fn compression(
    input: &InputFile<'_>,
    given: Option<OutputCompression>,
) -> Result<OutputCompression> {
    if let Some(given) = given {
        return Ok(given);
    }
    match input.compression {
        None => Ok(OutputCompression::of(input.path)),
        Some(format) => OutputCompression::of_format(Some(format)).ok_or_else(|| {
            let reason = format_args!(
                "--output-dir: is compressed with {format}, which coua cannot write; use --compress zst, \
                 gz or none"
            );
            Failure::at(input.path.display(), reason)
        }),
    }
}

/// The name of an output, with the extension of its compression.
fn name(below: &Path, compression: OutputCompression, given: Option<OutputCompression>) -> PathBuf {
    let (said, right) = (ending(below), compression.ending());
    if said == right || given.is_none() && said.is_none() {
        return below.to_owned();
    }
    let plain = if said.is_some() { below.with_extension("") } else { below.to_owned() };
    match right {
        Some(ending) => {
            let mut name = plain.into_os_string();
            name.push(".");
            name.push(ending);
            name.into()
        }
        None => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(
        inputs: &[(&str, Option<&'static str>)],
        given: Option<&str>,
    ) -> Result<Vec<String>> {
        let files: Vec<_> = inputs
            .iter()
            .map(|(path, compression)| InputFile {
                path: Path::new(path),
                compression: *compression,
            })
            .collect();
        let given = given.map(|text| text.parse().unwrap());
        let folder = OutputFolder::new(Path::new("to"), &files, given)?;
        let word = |compression: &OutputCompression| match compression {
            OutputCompression::None => "none".to_owned(),
            OutputCompression::Gzip(level) => format!("gz:{level}"),
            OutputCompression::Zstd(level) => format!("zst:{level}"),
        };
        let both = folder.paths.iter().zip(folder.compressions.iter().map(word));
        Ok(both.map(|(path, compression)| format!("{} {compression}", path.display())).collect())
    }

    #[test]
    fn names_are_those_below_the_common_folder() {
        let names = |paths: &[&str]| {
            outputs(&paths.iter().map(|path| (*path, None)).collect::<Vec<_>>(), None)
        };
        for (paths, expected) in [
            (&["a"][..], &["to/a none"][..]),
            (&["/x/y/a"], &["to/a none"]),
            (&["x/a", "x/b"], &["to/a none", "to/b none"]),
            (&["x/y/a", "x/z/a"], &["to/y/a none", "to/z/a none"]),
            (&["x/a", "x/y/a"], &["to/a none", "to/y/a none"]),
            (&["x/y/../a", "./x/y/a"], &["to/a none", "to/y/a none"]),
            (&["/x/a", "/y/a"], &["to/x/a none", "to/y/a none"]),
            (&["xy/a", "x/a"], &["to/xy/a none", "to/x/a none"]),
        ] {
            assert_eq!(names(paths).unwrap(), expected, "{paths:?}");
        }
        for twice in [["a", "a"], ["./a", "a"], ["x/../a", "a"]] {
            assert!(names(&twice).is_err(), "{twice:?}");
        }
    }

    #[test]
    fn endings_tell_how_outputs_are_compressed() {
        let (gzip, zstd, bzip2) = (Some("gzip"), Some("zstd"), Some("bzip2"));
        for (name, compression, given, expected) in [
            ("a", None, None, "to/a none"),
            ("a.gz", gzip, None, "to/a.gz gz:6"),
            ("a.zst", zstd, None, "to/a.zst zst:3"),
            ("a", zstd, None, "to/a zst:3"),
            // Without a byte.
            ("a.zst", None, None, "to/a.zst zst:3"),
            ("a.xz", None, None, "to/a none"),
            // With a wrong name.
            ("a.zst", gzip, None, "to/a.gz gz:6"),
            ("a.txt", None, Some("zst:9"), "to/a.txt.zst zst:9"),
            ("a.txt.gz", gzip, Some("zst"), "to/a.txt.zst zst:3"),
            ("a.txt.gz", gzip, Some("none"), "to/a.txt none"),
            ("a.bz2", bzip2, Some("gz"), "to/a.gz gz:6"),
            ("a", zstd, Some("none"), "to/a none"),
        ] {
            assert_eq!(outputs(&[(name, compression)], given).unwrap(), [expected]);
        }
        let failure = outputs(&[("a.bz2", bzip2)], None).unwrap_err();
        assert!(failure.reason().contains("bzip2"), "{failure:?}");
        assert!(outputs(&[("a.gz", gzip), ("a.zst", zstd)], Some("zst")).is_err());
    }
}

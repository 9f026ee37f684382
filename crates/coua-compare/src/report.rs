//! Tables and plots again, from the JSON files of earlier runs.

use std::fs;
use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::output::{Failure, Report};
use crate::{check, dedup, filters, growth, latency, space};

/// Print the tables and draw the plots of earlier runs, from their JSON files.
///
/// Tables go to standard output. Sizes that were measured in several runs are drawn into one plot.
#[derive(Debug, clap::Args)]
pub(crate) struct Tables {
    /// Where the JSON files are.
    #[arg(long, default_value = "target/compare", value_name = "DIR")]
    from: PathBuf,
    /// Where the plots go.
    #[arg(long, default_value = "docs/plots", value_name = "DIR")]
    plots: PathBuf,
}

impl Tables {
    /// Reads, prints, draws.
    ///
    /// # Errors
    ///
    /// If there is no result, one cannot be read, or a plot cannot be written.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        fs::create_dir_all(&self.plots)?;
        let mut files = 0;
        let filters: Vec<filters::Sheet> = self.tables("filters-", &mut files)?;
        filters::draw(&self.plots, &filters)?;
        for sheet in self.tables::<growth::Sheet>("growth-", &mut files)? {
            sheet.draw(&self.plots)?;
        }
        for sheet in self.tables::<space::Sheet>("space-", &mut files)? {
            sheet.draw(&self.plots)?;
        }
        self.tables::<latency::Sheet>("latency-", &mut files)?;
        self.tables::<dedup::Sheet>("dedup-", &mut files)?;
        self.tables::<check::Sheet>("check-", &mut files)?;
        if files == 0 {
            return Err(Failure::of(
                self.from.display(),
                &"found no results, such as space-*.json",
            ));
        }
        Ok(())
    }

    /// Prints the tables of all files whose name begins so, and counts them.
    fn tables<T>(&self, prefix: &str, count: &mut usize) -> Result<Vec<T>, Failure>
    where
        T: Serialize + DeserializeOwned + std::fmt::Display,
    {
        let mut sheets = Vec::new();
        for path in self.files(prefix)? {
            let report = Report::<T>::load(&path)?;
            println!("{report}");
            sheets.push(report.sheet);
            *count += 1;
        }
        Ok(sheets)
    }

    /// In the order of the numbers in their names.
    fn files(&self, prefix: &str) -> Result<Vec<PathBuf>, Failure> {
        let told = |why: &std::io::Error| Failure::of(self.from.display(), why);
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.from).map_err(|why| told(&why))? {
            let path = entry.map_err(|why| told(&why))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with(prefix) && path.extension().is_some_and(|end| end == "json") {
                files.push(path);
            }
        }
        files.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::Tables;

    #[test]
    fn files_come_in_the_order_of_their_sizes() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["filters-u64-10000000.json", "filters-u64-1000000.json", "filters-u64.svg"] {
            std::fs::write(at(name), "").unwrap();
        }
        let tables = Tables { from: directory.path().into(), plots: directory.path().into() };
        let found = tables.files("filters-").unwrap();
        assert_eq!(found, [at("filters-u64-1000000.json"), at("filters-u64-10000000.json")]);
        let failure = tables.run().unwrap_err().to_string();
        assert!(failure.contains("filters-u64-1000000.json"), "{failure}");
    }

    #[test]
    fn nothing_to_report_is_a_failure() {
        let directory = tempfile::tempdir().unwrap();
        let tables = Tables { from: directory.path().into(), plots: directory.path().into() };
        assert!(tables.run().unwrap_err().to_string().contains("no results"));
    }
}

//! `coua explore`.

mod excerpt;

use crate::args::{Quiet, SecretArgs};
use crate::output::refuse_filter;
use crate::terminal::{Failure, Result, print};
use excerpt::Excerpt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The page: one HTML file that makes no request to any server. It contains the library as WebAssembly. It is empty if
/// the page had not been built before this program.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/explore.html"));

/// The place of the excerpt in the page.
const NO_EXCERPT: &str = r#"id="excerpt">null<"#;

/// The program that opens a file in the browser.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else if cfg!(windows) {
    "explorer"
} else {
    "xdg-open"
};

/// Show in the browser how a cuckoo filter works, and what a filter contains
///
/// Writes one page to a private temporary file, prints the file's name, and opens it in the browser. The page runs the
/// library itself: it shows insertion, eviction, removal and growth step by step, in English and Chinese. Nothing is
/// sent anywhere.
///
/// With FILTER the page also shows that filter: parameters, the load of each segment, buckets, overflow table,
/// generations, log; and with --key, the slots of a key. The page contains a small filter as a whole. Of a large one, it
/// contains the parts with the keys, and a sample of the others. The secret key of the filter's hash is not in the page.
#[derive(clap::Args, Debug)]
pub(crate) struct ExploreArgs {
    /// Filter to show: a file, or `valkey://HOST[:PORT]/NAME[?shards=N]`
    #[arg(value_name = "FILTER")]
    filter: Option<PathBuf>,

    /// Also show where KEY is in the filter, and how often; may be repeated
    #[arg(long = "key", value_name = "KEY", requires = "filter")]
    keys: Vec<String>,

    /// Write the page to FILE, without opening the browser
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    quiet: Quiet,
}

impl ExploreArgs {
    /// Writes the page, and opens it unless it has a name.
    pub(crate) fn run(&self) -> Result<()> {
        let Some(path) = &self.output else { return self.show() };
        refuse_filter(path)?;
        let page = self.page()?;
        fs::write(path, page).map_err(|error| Failure::write(path.display(), &error))
    }

    fn show(&self) -> Result<()> {
        let path = write_private(&self.page()?)?;
        print(&format!("{}\n", path.display()))?;
        if open(&path).is_err() {
            let message = format_args!("could not open a browser; open {} in one", path.display());
            self.quiet.verbosity().say(message);
        }
        Ok(())
    }

    fn page(&self) -> Result<String> {
        let excerpt = |path: &PathBuf| {
            Excerpt::of(path, &self.secret.spec(), self.quiet.verbosity(), &self.keys)
        };
        let excerpt = self.filter.as_ref().map(excerpt).transpose()?;
        if PAGE.is_empty() {
            let reason = "this program was built without the page; in its source tree, run: \
                          scripts/build-web && cargo run --release -- explore";
            return Err(Failure::at("explore", reason));
        }
        let Some(excerpt) = excerpt else { return Ok(PAGE.to_owned()) };
        Ok(PAGE.replacen(NO_EXCERPT, &format!(r#"id="excerpt">{}<"#, excerpt.to_json()), 1))
    }
}

/// Writes the page to a new file that only this user can read. The browser may still read it when this program has ended.
fn write_private(page: &str) -> Result<PathBuf> {
    let failed = |error| Failure::io(std::env::temp_dir().display(), &error);
    let mut file =
        tempfile::Builder::new().prefix("coua-").suffix(".html").tempfile().map_err(failed)?;
    file.write_all(page.as_bytes()).map_err(failed)?;
    let (_, path) = file.keep().map_err(|error| failed(error.error))?;
    Ok(path)
}

fn open(page: &Path) -> std::io::Result<()> {
    let mut opener = Command::new(OPENER);
    opener.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    opener.spawn().map(|_| ())
}

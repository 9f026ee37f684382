//! `coua explore`.

use crate::args::{Quiet, SecretArgs};
use crate::clock;
use crate::filter::{Location, Secret, check_files, filter_file, server};
use crate::output::refuse_filter;
use crate::terminal::{Failure, Result, Verbosity, print};
use coua::window::Generations;
use serde::Serialize;
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
/// With FILTER the page also shows that filter: items, rate, segments and their load, overflow table, generations, and
/// where a key is. The filter may have at most 16 MiB. The page does not have the secret key of the filter's hash: then
/// it has answers only for the keys of --key.
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
            Excerpt::of(path, &self.secret.secret(), self.quiet.verbosity(), &self.keys)
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

/// The most bytes of a filter in a page.
const MOST: usize = 16 << 20;

/// A filter, and answers. The field names are those of `web/page/look.js`.
#[derive(Serialize)]
struct Excerpt {
    name: String,
    /// The snapshot in base64.
    bytes: String,
    /// Keys, with the number of copies of each.
    answers: Vec<(String, u64)>,
}

impl Excerpt {
    /// Reads a filter, with the answers for `keys`.
    fn of(filter: &Path, secret: &Secret, verbosity: Verbosity, keys: &[String]) -> Result<Self> {
        match Location::of(filter)? {
            Location::File(path) => Self::of_file(&path, secret, keys),
            Location::Server(address) => {
                let (filter, _) = server::pull(&address, verbosity)?;
                Self::of_filter(address.to_string(), &filter, keys)
            }
        }
    }

    fn of_file(path: &Path, secret: &Secret, keys: &[String]) -> Result<Self> {
        check_files(secret, [path], None)?;
        let name = path.file_name().unwrap_or(path.as_os_str()).display().to_string();
        let mut view = filter_file::read(path, secret)?;
        clock::advance(&mut view.filter);
        let excerpt = Self::of_filter(name, &view.filter, keys);
        view.check_origin()?;
        excerpt
    }

    fn of_filter(name: String, filter: &Generations, keys: &[String]) -> Result<Self> {
        let mut snapshot = Vec::new();
        filter.write_to(&mut snapshot).map_err(|error| Failure::at(&name, error))?;
        if snapshot.len() > MOST {
            let reason = "has more than 16 MiB, too many for a page; use `coua info`";
            return Err(Failure::at(&name, reason));
        }
        let hashes: Vec<_> = keys.iter().map(|key| filter.hasher().hash(key.as_bytes())).collect();
        let answers = keys.iter().cloned().zip(filter.count_batch(&hashes)).collect();
        Ok(Self { name, bytes: base64(&snapshot), answers })
    }

    /// JSON that cannot end the script element that it is in.
    fn to_json(&self) -> String {
        let json = serde_json::to_string(self).expect("texts and numbers are JSON");
        json.replace('<', "\\u003c")
    }
}

/// Base64 without padding (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = bytes.chunks(3).flat_map(|three| {
        let number =
            three.iter().zip([16, 8, 0]).fold(0, |sum, (byte, by)| sum | u32::from(*byte) << by);
        let digit = move |by: u32| char::from(DIGITS[(number >> by & 63) as usize]);
        [18, 12, 6, 0].into_iter().take(three.len() + 1).map(digit)
    });
    digits.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use coua::CuckooFilter;
    use coua_store::Options;

    #[test]
    fn the_answers_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("<script>.coua");
        let mut store = Options::new().create(&path, CuckooFilter::new).unwrap();
        for key in ["7", "7", "4999"] {
            store.insert(key).unwrap();
        }
        store.finish().unwrap();
        let asked = ["7", "4999", "</script><b>"].map(str::to_owned);
        let secret = Secret::default();
        let excerpt = Excerpt::of(&path, &secret, Verbosity::Normal, &asked).unwrap();
        let json = excerpt.to_json();
        assert!(!json.contains('<'), "it would end the element, or begin another");
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["name"], "<script>.coua");
        let counts = [0, 1, 2].map(|nth| read["answers"][nth][1].as_u64());
        assert_eq!(counts, [Some(2), Some(1), Some(0)]);
        let large = CuckooFilter::with_capacity(MOST as u64, 0.01).unwrap().into();
        let refused = Excerpt::of_filter("f".to_owned(), &large, &asked).err().unwrap();
        assert!(refused.reason().starts_with("has more than 16 MiB"));
    }

    #[test]
    fn base64_is_as_in_the_standard() {
        for (bytes, text) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xbf]), "+/+/");
    }
}

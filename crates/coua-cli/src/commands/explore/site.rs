//! The page of `coua explore`, served to this machine only.

#[cfg(feature = "server")]
use crate::commands::pull;
use crate::filter::Location;
#[cfg(feature = "server")]
use crate::filter::{FilterFile, server};
use crate::output::refuse_filter;
#[cfg(feature = "server")]
use crate::terminal::hexadecimal;
use crate::terminal::{Failure, Result, Verbosity};
#[cfg(feature = "server")]
use coua::HashAlgorithm;
#[cfg(feature = "server")]
use std::fs::{self, File};
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use tiny_http::{Header, Method, Request, Response, Server};

/// The page: one HTML file that makes no request to any server. It contains the library as WebAssembly. It is empty if
/// the page had not been built before this program.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/explore.html"));

/// The largest slice of a filter; the page requests no more than a frame of a log at a time.
const MOST_SLICE: u64 = 80 << 20;

/// Writes the page to a file.
pub(super) fn write(path: &Path) -> Result<()> {
    refuse_filter(path)?;
    check_made()?;
    fs::write(path, PAGE).map_err(|error| Failure::write(path.display(), &error))?;
    Ok(())
}

fn check_made() -> Result<()> {
    if !PAGE.is_empty() {
        return Ok(());
    }
    let reason = "this program was built without the page; in its source tree, run: \
                  scripts/build-web && cargo run --release -- explore";
    Err(Failure::at("explore", reason))
}

fn open(path: &Path) -> Result<File> {
    let failed = |error| Failure::io(path.display(), &error);
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_file() {
        return Ok(file);
    }
    Err(Failure::at(path.display(), "is not a regular file, so it cannot hold a filter"))
}

type Answer = Response<Cursor<Vec<u8>>>;

/// The filter that the page shows.
struct Subject {
    name: String,
    /// The secret key of its hash in hexadecimal digits, if it comes from a server.
    key: String,
    /// Its file; none if it is a copy of a filter on a server.
    path: Option<PathBuf>,
    /// The file as it was when the page was requested: a new snapshot replaces the whole file, and slices of two
    /// snapshots do not fit together.
    content: File,
}

impl Subject {
    #[cfg_attr(
        not(feature = "server"),
        expect(unused_variables, reason = "a file is not waited for")
    )]
    fn of(filter: &Path, verbosity: Verbosity) -> Result<Self> {
        match Location::of(filter)? {
            Location::File(_) => Self::of_file(filter),
            #[cfg(feature = "server")]
            Location::Server(address) => Self::on_server(&address, verbosity),
        }
    }

    fn of_file(filter: &Path) -> Result<Self> {
        let content = open(filter)?;
        let name = filter.file_name().unwrap_or(filter.as_os_str()).display().to_string();
        let (key, path) = (String::new(), Some(filter.to_owned()));
        Ok(Self { name, key, path, content })
    }

    #[cfg(feature = "server")]
    fn on_server(address: &server::Address, verbosity: Verbosity) -> Result<Self> {
        let (filter, keys) = server::pull(address, verbosity)?;
        let key = match filter.hasher().algorithm() {
            HashAlgorithm::SipHash13 { key } => hexadecimal(key),
            _ => String::new(),
        };
        let name = address.to_string();
        let failed = |error| Failure::io(std::env::temp_dir().display(), &error);
        let folder = tempfile::tempdir().map_err(failed)?;
        let path = folder.path().join("filter.coua");
        let file = FilterFile::lock(&path, verbosity)?;
        pull::save(file, filter, keys.as_ref())?;
        let content = open(&path)?;
        // The open file is there until it is closed.
        folder.close().ok();
        Ok(Self { name, key, path: None, content })
    }
}

/// The HTTP server of the page.
pub(super) struct Site {
    server: Server,
    port: u16,
    subject: Option<Subject>,
}

impl Site {
    /// Serves the page, with a filter if one is named, on this port or (0) on a free one.
    pub(super) fn open(filter: Option<&Path>, verbosity: Verbosity, port: u16) -> Result<Self> {
        let subject = filter.map(|filter| Subject::of(filter, verbosity)).transpose()?;
        check_made()?;
        let refused = |error| Failure::at(format!("127.0.0.1:{port}"), error);
        let server = Server::http((Ipv4Addr::LOCALHOST, port)).map_err(refused)?;
        let port = server.server_addr().to_ip().map_or(port, |found| found.port());
        Ok(Self { server, port, subject })
    }

    /// Its address.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Answers until the program is interrupted.
    pub(super) fn serve(mut self) {
        while let Ok(request) = self.server.recv() {
            let answer = self.answer(&request);
            // If the browser has gone away, the response is not needed.
            request.respond(answer).ok();
        }
    }

    fn answer(&mut self, request: &Request) -> Answer {
        if !self.is_asked_for(request) {
            return text(403, "this page is for this machine only");
        }
        match (request.method(), request.url()) {
            (Method::Get, "/") => self.page(),
            (Method::Get, "/filter") => self.slice(request),
            _ => text(404, "not found"),
        }
    }

    /// Whether the browser used our address: another site whose name resolves to this machine must not read the file.
    fn is_asked_for(&self, request: &Request) -> bool {
        let ours = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", self.port));
        value_of(request, "Host").is_some_and(|host| ours.iter().any(|own| own == host))
    }

    fn page(&mut self) -> Answer {
        match self.made() {
            Ok(page) => Response::from_string(page)
                .with_header(header("Content-Type", "text/html; charset=utf-8")),
            Err(reason) => text(500, &reason),
        }
    }

    /// The page, with the attributes of its filter.
    fn made(&mut self) -> Result<String, String> {
        let Some(Subject { name, key, path, content }) = &mut self.subject else {
            return Ok(PAGE.to_owned());
        };
        if let Some(path) = path {
            *content = open(path).map_err(|failure| failure.reason().to_owned())?;
        }
        let bytes = content.seek(SeekFrom::End(0)).map_err(|error| error.to_string())?;
        let told = attributes(name, bytes, key);
        Ok(PAGE.replacen(r#"data-file="" data-size="" data-key="""#, &told, 1))
    }

    fn slice(&mut self, request: &Request) -> Answer {
        let Some((first, last)) = value_of(request, "Range").and_then(range) else {
            return text(416, "a byte range is required");
        };
        let Some(subject) = &mut self.subject else { return text(404, "no filter was named") };
        match read(&mut subject.content, first, last) {
            Ok(bytes) => Response::from_data(bytes)
                .with_status_code(206)
                .with_header(header("Content-Range", &format!("bytes {first}-{last}/*"))),
            Err(error) => text(500, &error.to_string()),
        }
    }
}

/// Attributes that describe the filter to the page. The key is that of its hash, in hexadecimal digits.
fn attributes(name: &str, bytes: u64, key: &str) -> String {
    let name = name.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    format!(r#"data-file="{name}" data-size="{bytes}" data-key="{key}""#)
}

fn read(mut from: impl Read + Seek, first: u64, last: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.seek(SeekFrom::Start(first))?;
    from.take((last - first + 1).min(MOST_SLICE)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The first and the last byte of `bytes=FIRST-LAST`.
fn range(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && last < u64::MAX).then_some((first, last))
}

fn value_of<'a>(request: &'a Request, name: &'static str) -> Option<&'a str> {
    let found = request.headers().iter().find(|header| header.field.equiv(name));
    found.map(|header| header.value.as_str())
}

fn text(status: u16, words: &str) -> Answer {
    Response::from_string(words).with_status_code(status)
}

fn header(name: &str, value: &str) -> Header {
    Header::from_bytes(name, value).expect("names and values are plain text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_attribute() {
        assert_eq!(
            attributes(r#"a"><b>&.coua"#, 7, "0f"),
            r#"data-file="a&quot;>&lt;b>&amp;.coua" data-size="7" data-key="0f""#
        );
    }

    #[test]
    fn only_ranges_with_both_ends_are_read() {
        assert_eq!(range("bytes=0-0"), Some((0, 0)));
        assert_eq!(range("bytes=7-9"), Some((7, 9)));
        let last = u64::MAX;
        for wrong in ["bytes=9-7", "bytes=-5", "bytes=5-", "bytes=a-b", "0-1", "", "bytes=1-2,4-5"]
        {
            assert_eq!(range(wrong), None, "{wrong}");
        }
        assert_eq!(range(&format!("bytes=0-{last}")), None);
    }
}

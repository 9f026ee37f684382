//! Where a filter is: in a file, or on a server.

#[cfg(feature = "server")]
use crate::filter::server::address::{Address, FORM};
use crate::terminal::{Failure, Result};
use std::path::{Path, PathBuf};

/// Where a filter is.
#[derive(Clone, Debug)]
pub(crate) enum Location {
    File(PathBuf),
    #[cfg(feature = "server")]
    Server(Address),
}

impl Location {
    /// As the command line says it.
    pub(crate) fn of(argument: &Path) -> Result<Self> {
        let text = argument.to_string_lossy();
        let is_address = text.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme));
        if is_address { Self::on_server(&text) } else { Ok(Self::File(argument.to_owned())) }
    }

    #[cfg(feature = "server")]
    fn on_server(text: &str) -> Result<Self> {
        let wrong = |reason| Failure::at(without_password(text), reason);
        let address = Address::parse(text).map_err(wrong)?;
        Ok(Self::Server(address.with_password()))
    }

    #[cfg(not(feature = "server"))]
    fn on_server(text: &str) -> Result<Self> {
        let reason = "is a filter on a server, and this program was built without the feature `server` of coua-cli";
        Err(Failure::at(without_password(text), reason))
    }

    /// The address where nothing else will do.
    #[cfg(feature = "server")]
    pub(crate) fn address(argument: &Path) -> Result<Address> {
        match Self::of(argument)? {
            Self::Server(address) => Ok(address),
            Self::File(path) => {
                let reason = format!("is not an address: expected {FORM}");
                Err(Failure::at(path.display(), reason))
            }
        }
    }

    /// The file, unless it is on a server.
    #[cfg_attr(
        not(feature = "server"),
        expect(clippy::unnecessary_wraps, reason = "all are files")
    )]
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            #[cfg(feature = "server")]
            Self::Server(_) => None,
        }
    }
}

fn is_scheme(text: &str) -> bool {
    ["valkey", "valkeys", "redis", "rediss"].iter().any(|scheme| text.eq_ignore_ascii_case(scheme))
}

/// An address that cannot be understood, for a message.
fn without_password(text: &str) -> String {
    match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_files() {
        for file in ["seen.coua", "valkey:/h/x", "http://h/x", "./valkey"] {
            assert!(Location::of(Path::new(file)).unwrap().file().is_some(), "{file}");
        }
    }

    #[cfg(feature = "server")]
    #[test]
    fn passwords_are_never_shown() {
        let wrong = |text: &str| match Location::of(Path::new(text)) {
            Err(Failure::At { name, reason, .. }) => (name, reason),
            other => panic!("{text}: {other:?}"),
        };
        let (name, reason) = wrong("valkey://me:sec@ret@h:x/seen");
        assert_eq!(name, "valkey://h:x/seen");
        assert!(!reason.contains("ret@"), "{reason}");
        for text in [
            "valkey://me:12/secret@h/seen",
            "valkey://me:12?secret@h/seen",
            "valkey://me:12/x?secret=1@h/seen",
            "valkey://me:12/x#secret@h/seen",
            "valkey://me:secret/12@h/seen",
            "valkey://me/secret@h/seen?shards=2",
            "valkey://h/secret@x",
        ] {
            let (name, reason) = wrong(text);
            assert!(!format!("{name} {reason}").contains("secret"), "{text}: {name} {reason}");
            assert!(reason.contains("%2F") && reason.contains("%40"), "{text}: {reason}");
        }
    }

    #[cfg(not(feature = "server"))]
    #[test]
    fn an_address_names_the_feature() {
        let refused = Location::of(Path::new("valkey://me:secret@h/seen")).unwrap_err();
        assert!(refused.reason().contains("feature `server`"), "{}", refused.reason());
    }
}

//! `coua pull`.

use crate::cli::run::Manners;
use crate::cli::secret::{digits_of, read_key};
use crate::input;
use crate::remote::{self, Address};
use crate::target::file::FilterFile;
use crate::terminal::exit::Exit;
use crate::terminal::message::Failure;
use coua::HashAlgorithm;
use coua::window::Generations;
use coua_store::Runs;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Write a filter of a server to a file
///
/// The server goes on meanwhile. What the file holds of a shard is of one moment, when the server was asked for it;
/// no two shards need be of the same moment: a record that was added before the pull began is in the file, one
/// that was added meanwhile may be.
///
/// All shards go into one filter. They must have the same key of their hash, as those have that `coua` creates.
/// A server takes as long to send a shard as for DUMP: ask a replica for what is large.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The address of the filter: `valkey://HOST[:PORT]/NAME[?shards=N]`
    #[arg(value_name = "ADDRESS")]
    address: PathBuf,

    /// The file to write, which must not be there
    #[arg(value_name = "FILTER")]
    output: PathBuf,

    /// The file for the secret key of the filter's hash, as 32 hexadecimal digits
    ///
    /// Filters that were made on a server have one. If FILE is there, it must hold this key. Every command on
    /// the filter file needs it.
    #[arg(long, value_name = "FILE", help_heading = "Filter")]
    key_file: Option<PathBuf>,

    #[command(flatten)]
    manners: Manners,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let address = Address::needed(&args.address)?;
    if args.key_file.as_ref().is_some_and(|key| input::is_same_place(key, &args.output)) {
        return Err(Failure::at(args.output.display(), "is the file of the secret key as well"));
    }
    let output = FilterFile::lock(&args.output, &args.manners)?;
    output.check_new()?;
    let filter = remote::pull::pull(&address, args.manners.quiet)?;
    keep_key(&filter, args.key_file.as_deref(), &address)?;
    output.save(filter, Runs::default())?;
    Ok(Exit::Success)
}

/// Sees to it that the secret key, if there is one, is in its file.
fn keep_key(filter: &Generations, file: Option<&Path>, from: &Address) -> Result<(), Failure> {
    let (file, key) = match (filter.hasher().algorithm(), file) {
        (HashAlgorithm::SipHash13 { key }, Some(file)) => (file, key),
        (HashAlgorithm::SipHash13 { .. }, None) => {
            let reason = "the filter has a secret key: say where to keep it (--key-file FILE)";
            return Err(Failure::at(from, reason));
        }
        (_, Some(_)) => {
            return Err(Failure::at(from, "the filter has no secret key: leave --key-file out"));
        }
        (_, None) => return Ok(()),
    };
    let name = file.display();
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(file) {
        Ok(mut made) => {
            writeln!(made, "{}", digits_of(key)).map_err(|error| Failure::write(&name, &error))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let reason = "is there, and holds another key than the filter's: name another file";
            if read_key(file)? == key { Ok(()) } else { Err(Failure::at(name, reason)) }
        }
        Err(error) => Err(Failure::io(name, &error)),
    }
}

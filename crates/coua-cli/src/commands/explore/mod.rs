//! `coua explore`.

#[cfg(feature = "explore")]
mod site;

use crate::args::{Quiet, value};
use crate::terminal::Result;
use std::path::PathBuf;

/// Show in the browser how a cuckoo filter works, and what a filter contains
///
/// Serves a page on 127.0.0.1 until it is interrupted. The page runs the library itself: it shows insertion,
/// eviction, removal and growth step by step, in English and Chinese. With FILTER it also shows the contents of that
/// file: parameters, the load of each segment, buckets, overflow table, generations, log; and the slots of a key. Of a
/// large file only slices are read, and nothing is changed or sent anywhere. A filter on a server is first copied to a
/// temporary file, as by `coua pull`; the page gets the secret key of its hash.
#[derive(clap::Args, Debug)]
pub(crate) struct ExploreArgs {
    /// Filter to show: a file, or `valkey://HOST[:PORT]/NAME[?shards=N]`
    #[arg(value_name = "FILTER")]
    filter: Option<PathBuf>,

    /// Port to serve on [default: a free one]
    #[arg(long, value_name = "N", value_parser = value::between(0_u16, u16::MAX))]
    port: Option<u16>,

    /// Write the page to FILE instead of serving it, for any static host
    #[arg(long, value_name = "FILE", conflicts_with_all = ["filter", "port"])]
    write: Option<PathBuf>,

    /// Print the address without opening the browser
    #[arg(long)]
    no_open: bool,

    #[command(flatten)]
    quiet: Quiet,
}

impl ExploreArgs {
    #[cfg(not(feature = "explore"))]
    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn run(&self) -> Result<()> {
        let reason = "this program was built without the feature `explore`";
        Err(crate::terminal::Failure::at("explore", reason))
    }

    /// Serves the page, or writes it.
    #[cfg(feature = "explore")]
    pub(crate) fn run(&self) -> Result<()> {
        if let Some(path) = &self.write {
            return site::write(path);
        }
        let (filter, port) = (self.filter.as_deref(), self.port.unwrap_or(0));
        let site = site::Site::open(filter, self.quiet.verbosity(), port)?;
        let url = site.url();
        crate::terminal::print(&format!("{url}\n"))?;
        if !self.no_open && open::that_detached(&url).is_err() {
            crate::terminal::say(format_args!("could not open a browser; visit {url}"));
        }
        site.serve();
        Ok(())
    }
}

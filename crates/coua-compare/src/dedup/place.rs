//! Where programs are found, and how the peers get there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::output::Failure;

/// Directories with programs.
#[derive(Debug)]
pub(crate) struct Place {
    /// Where peers are installed.
    peers: PathBuf,
    /// The program `coua`, if another than the one built beside this program is wanted.
    coua: Option<PathBuf>,
}

impl Place {
    /// Beside this program, in the directory that Cargo builds in.
    ///
    /// # Errors
    ///
    /// If the system does not tell where this program lies.
    pub(crate) fn new(coua: Option<PathBuf>) -> Result<Self, Failure> {
        let program = std::env::current_exe()?;
        let target = program.ancestors().nth(2).unwrap_or(Path::new("."));
        Ok(Self { peers: target.join("peers"), coua })
    }

    /// The file of a program, named as in a `PATH`, or by its place among the peers.
    pub(crate) fn find(&self, program: &str) -> Option<PathBuf> {
        let built = std::env::current_exe().ok()?;
        let mut places = ["", "bin", "debian/usr/bin"].map(|place| self.peers.join(place)).to_vec();
        if program == "coua" {
            if let Some(chosen) = &self.coua {
                return Some(chosen.clone());
            }
            places = vec![built.parent()?.to_owned()];
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        places.extend(std::env::split_paths(&path));
        places.iter().map(|place| place.join(program)).find(|file| file.is_file())
    }

    /// The program `coua`.
    ///
    /// # Errors
    ///
    /// If it is not there, with what to do.
    pub(crate) fn coua(&self) -> Result<PathBuf, Failure> {
        self.find("coua").filter(|file| file.is_file()).ok_or_else(|| {
            let why = "it does not lie beside this program; build it by \
                       `cargo build --release -p coua-cli`, or name it by --coua";
            Failure::of("coua", &why)
        })
    }

    /// Where libraries of Debian packages lie that were unpacked, not installed.
    pub(crate) fn libraries(&self) -> PathBuf {
        self.peers.join("debian/usr/lib/x86_64-linux-gnu")
    }

    /// Gets what can be got without the right to install: crates, Python packages in an environment
    /// of their own, and Debian packages unpacked. What fails is told, and later reported as lacking.
    ///
    /// # Errors
    ///
    /// If no directory can be made for them.
    pub(crate) fn install(&self) -> Result<(), Failure> {
        let peers = self.peers.display();
        let debian = self.peers.join("debian");
        std::fs::create_dir_all(&debian)?;
        for script in [
            format!("cargo install --locked --root '{peers}' runiq@2.1.0"),
            format!("cargo install --locked --root '{peers}' huniq@2.7.0"),
            format!("python3 -m venv '{peers}/venv'"),
            format!("'{peers}/venv/bin/pip' install duckdb==2.0.0 polars==2.1.0 rbloom==1.5.4"),
            format!(
                "cd '{}' && apt-get download gawk libsigsegv2 libmpfr6 libreadline8 libgmp10 \
                 golang-github-dcso-bloom-cli passwdqc libpasswdqc1 && \
                 for package in *.deb; do dpkg-deb -x \"$package\" . && rm \"$package\"; done",
                debian.display()
            ),
        ] {
            eprintln!("{script}");
            let done = Command::new("sh").args(["-c", &script]).stdout(Stdio::null()).status()?;
            if !done.success() {
                eprintln!("failed: {done}");
            }
        }
        Ok(())
    }
}

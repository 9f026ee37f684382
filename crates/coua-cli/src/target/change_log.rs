//! What a server was told and may have to be told again.

use crate::key::keyed::Keyed;
use crate::key::parts::Parts;
use coua::KeyHash;
use coua_remote::{Answer, Keys};

/// Keys that were handed to the server and may have to be taken back.
#[derive(Debug, Default)]
pub(super) struct ChangeLog {
    bytes: Parts,
    hashes: Vec<KeyHash>,
}

impl ChangeLog {
    pub(super) fn note(&mut self, key: &[u8], hash: KeyHash) {
        self.bytes.push(key);
        self.hashes.push(hash);
    }

    /// Notes those of the keys from the `first` on whose answer says so.
    pub(super) fn note_some(
        &mut self,
        keyed: &Keyed,
        answers: &[Answer],
        first: usize,
        says_so: impl Fn(&Answer) -> bool,
    ) {
        let all = answers.iter().zip(keyed.keys.iter().zip(&keyed.hashes));
        for (_, (key, hash)) in all.skip(first).filter(|(answer, _)| says_so(answer)) {
            self.note(key, *hash);
        }
    }

    /// Notes what another has noted.
    pub(super) fn append(&mut self, other: &Self) {
        for (key, hash) in other.bytes.iter().zip(&other.hashes) {
            self.note(key, *hash);
        }
    }

    pub(super) fn keys(&self) -> Keys<'_> {
        keys(&self.bytes, &self.hashes)
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.hashes.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    pub(super) fn size(&self) -> usize {
        self.bytes.size()
    }
}

/// Keys as a server is asked about them.
pub(super) fn keys<'a>(keys: &'a Parts, hashes: &'a [KeyHash]) -> Keys<'a> {
    let (bytes, ends) = keys.pieces();
    Keys::new(bytes, ends, hashes)
}

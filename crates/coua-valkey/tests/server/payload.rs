//! The bytes of DUMP: made by hand, they are what RESTORE gets from an enemy.

/// Newest version of the format of dump files that all tested servers read.
const RDB_VERSION: u16 = 10;
/// A value of a module.
const MODULE_2: u8 = 7;

/// The end of the last part of a module's value.
const END: u8 = 0;
const UNSIGNED: u8 = 2;
const STRING: u8 = 5;

/// A payload without its last ten bytes: version and checksum.
pub(crate) fn body(payload: &[u8]) -> &[u8] {
    &payload[..payload.len() - 10]
}

/// The payload with version and checksum behind it, both right.
pub(crate) fn sealed(body: &[u8]) -> Vec<u8> {
    let mut payload = body.to_vec();
    payload.extend(RDB_VERSION.to_le_bytes());
    payload.extend(crc64(&payload).to_le_bytes());
    payload
}

/// CRC-64 of Redis: Jones' polynomial, reflected, nothing inverted.
fn crc64(bytes: &[u8]) -> u64 {
    const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;
    bytes.iter().fold(0, |crc, &byte| {
        (0..8).fold(crc ^ u64::from(byte), |crc, _| {
            if crc & 1 == 0 { crc >> 1 } else { (crc >> 1) ^ POLYNOMIAL }
        })
    })
}

/// The value of a module, part by part.
pub(crate) struct Parts(Vec<u8>);

impl Parts {
    /// A value of this type, whose name has nine letters, and this encoding.
    pub(crate) fn of_type(name: &str, encoding: u64) -> Self {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let id = name.bytes().fold(0, |id, letter| {
            id << 6 | LETTERS.iter().position(|&known| known == letter).unwrap() as u64
        });
        let mut parts = Self(vec![MODULE_2]);
        parts.length(id << 10 | encoding);
        parts
    }

    #[expect(clippy::big_endian_bytes, reason = "so are the long lengths of dump files")]
    fn length(&mut self, length: u64) {
        self.0.push(0x81);
        self.0.extend(length.to_be_bytes());
    }

    pub(crate) fn unsigned(mut self, number: u64) -> Self {
        self.0.extend([UNSIGNED]);
        self.length(number);
        self
    }

    pub(crate) fn string(self, bytes: &[u8]) -> Self {
        self.string_said_to_be(bytes.len() as u64, bytes)
    }

    /// A string that says another length than it has.
    pub(crate) fn string_said_to_be(mut self, length: u64, bytes: &[u8]) -> Self {
        self.0.push(STRING);
        self.length(length);
        self.0.extend(bytes);
        self
    }

    /// The whole payload.
    pub(crate) fn sealed(mut self) -> Vec<u8> {
        self.0.push(END);
        sealed(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_servers() {
        assert_eq!(crc64(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
    }
}

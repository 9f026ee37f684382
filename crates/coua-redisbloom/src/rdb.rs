//! The server's dump of a value, as far as the peer's filters use it: numbers and strings of bytes.

use super::error::{LoadError, Unreadable};

/// Reads what a filter was dumped as.
pub trait Source {
    /// A string of bytes as the server hands it out.
    type Bytes: AsRef<[u8]>;

    /// The next number.
    ///
    /// # Errors
    /// The dump ends, or something else comes next.
    fn read_u64(&mut self) -> Result<u64, Unreadable>;

    /// The next number with a fraction.
    ///
    /// # Errors
    /// The dump ends, or something else comes next.
    fn read_f64(&mut self) -> Result<f64, Unreadable>;

    /// The next string.
    ///
    /// # Errors
    /// The dump ends, or something else comes next.
    fn read_bytes(&mut self) -> Result<Self::Bytes, Unreadable>;
}

/// Takes the dump of a filter. A server that cannot write remembers that by itself.
pub trait Sink {
    /// Dumps a number.
    fn write_u64(&mut self, number: u64);

    /// Dumps a number with a fraction.
    fn write_f64(&mut self, number: f64);

    /// Dumps a string.
    fn write_bytes(&mut self, bytes: &[u8]);
}

/// The next number, which must fit.
pub(super) fn read_narrow<T: TryFrom<u64>>(
    source: &mut impl Source,
    name: &'static str,
    expected: &'static str,
) -> Result<T, LoadError> {
    let found = source.read_u64()?;
    T::try_from(found).map_err(|_| LoadError::Number { name, found, expected })
}

//! A stream cut into pieces of a bounded size, so that nobody needs memory for all of it.

use std::io::{self, Write};

/// Hands over each piece as soon as it is full, and at the end the rest.
pub(crate) struct Pieces<P> {
    size: usize,
    piece: Vec<u8>,
    put: P,
}

impl<P: FnMut(&[u8])> Pieces<P> {
    /// Pieces of `size` bytes.
    pub(crate) fn new(size: usize, put: P) -> Self {
        Self { size, piece: Vec::new(), put }
    }

    /// Hands over the rest, if there is one.
    pub(crate) fn finish(mut self) {
        if !self.piece.is_empty() {
            (self.put)(&self.piece);
        }
    }
}

impl<P: FnMut(&[u8])> Write for Pieces<P> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.size - self.piece.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        if self.piece.len() == self.size {
            (self.put)(&self.piece);
            self.piece.clear();
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_put_together_are_the_stream() {
        for length in [0, 1, 9, 10, 11, 19, 20, 21, 100] {
            let stream: Vec<u8> = (0..length).collect();
            let mut found = Vec::new();
            let mut pieces = Pieces::new(10, |piece: &[u8]| found.push(piece.to_vec()));
            for part in stream.chunks(7) {
                pieces.write_all(part).unwrap();
            }
            pieces.finish();
            assert_eq!(found.concat(), stream);
            assert_eq!(found.len(), usize::from(length).div_ceil(10));
        }
    }
}

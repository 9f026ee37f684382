//! Records that are not UTF-8, as text: a byte that belongs to no letter counts as the letter of Latin-1.

/// A text, and where in the bytes its letters come from.
pub(super) struct Text {
    text: String,
    /// Where in the text the letters are that stood as one byte and take two here.
    widened: Vec<usize>,
}

impl Text {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut it = Self { text: String::with_capacity(bytes.len() * 2), widened: Vec::new() };
        for chunk in bytes.utf8_chunks() {
            it.text.push_str(chunk.valid());
            for byte in chunk.invalid() {
                it.widened.push(it.text.len());
                it.text.push(char::from(*byte));
            }
        }
        it
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// The place in the bytes of this place in the text, which is between two letters.
    pub(super) fn origin(&self, place: usize) -> usize {
        place - self.widened.partition_point(|widened| *widened < place)
    }
}

//! Where the columns of the key are in a file.

/// A part of a list of fields or columns, which are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    One(usize),
    /// This one, and all after it.
    From(usize),
}

impl Item {
    pub(crate) fn highest(self) -> usize {
        match self {
            Self::One(number) => number,
            Self::From(_) => usize::MAX,
        }
    }
}

/// The columns of the key and of the time in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// Those of the key, in its order.
    pub(crate) key: Vec<Item>,
    pub(crate) time: Option<usize>,
    /// If the key is all columns but some of a header: a digest of their names, which is part of the key.
    pub(crate) names: Option<String>,
}

impl Places {
    /// The highest column.
    pub(crate) fn highest(&self) -> usize {
        let all = self.key.iter().map(|item| item.highest()).chain(self.time);
        all.max().unwrap_or(0)
    }
}

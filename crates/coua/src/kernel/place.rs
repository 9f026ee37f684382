//! One key's place in the table.

/// Choice bit of a slot value: 0 in the primary bucket, 1 in the alternate bucket.
pub(crate) const ALTERNATE: u64 = 1;

/// Where a key lies, and the slot value that stands for it there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    pub(crate) segment: u32,
    pub(crate) primary: u64,
    pub(crate) alternate: u64,
    /// The slot value in the primary bucket; the alternate bucket has [`Place::alternate_value`].
    pub(crate) value: u64,
}

impl Place {
    pub(crate) fn alternate_value(&self) -> u64 {
        self.value | ALTERNATE
    }
}

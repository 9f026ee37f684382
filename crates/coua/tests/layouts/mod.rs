//! Every layout that a filter can have, with its slots per bucket.

use coua::Layout;

pub(crate) const LAYOUTS: [(Layout, u32); 5] = [
    (Layout::Buckets, 1),
    (Layout::Buckets, 2),
    (Layout::Buckets, 4),
    (Layout::Buckets, 8),
    (Layout::Overlapping, 2),
];

/// Each layout with each of these.
pub(crate) fn with_each<T: Copy>(others: &[T]) -> impl Iterator<Item = ((Layout, u32), T)> {
    LAYOUTS.into_iter().flat_map(|layout| others.iter().map(move |&other| (layout, other)))
}

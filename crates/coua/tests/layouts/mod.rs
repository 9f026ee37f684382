//! Every layout that a filter can have, with its slots per bucket.

use coua::Layout;

pub(crate) const LAYOUTS: [(Layout, u32); 5] = [
    (Layout::Buckets, 1),
    (Layout::Buckets, 2),
    (Layout::Buckets, 4),
    (Layout::Buckets, 8),
    (Layout::Overlapping, 2),
];

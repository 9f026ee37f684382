//! `Debug` of a filter: the results of some methods, without its table, and without the hash's seed, which may be
//! secret.

/// Implements `Debug` for a type from the names of methods.
macro_rules! summary {
    ($type:ident: $($method:ident),+) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($method), &self.$method()))+
                    .finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use summary;

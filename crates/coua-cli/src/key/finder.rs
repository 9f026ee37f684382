//! Where the key is in a record.

use super::parts::{Missing, Parts};
use super::{csv, fields, json, regex};

/// Where the key is in a record.
#[derive(Clone, Debug)]
pub(crate) enum Finder {
    Record,
    Fields(fields::Fields),
    Csv(Box<csv::Columns>),
    Json(json::Pointers),
    Regex(regex::Pattern),
}

impl Finder {
    pub(super) fn find(&mut self, record: &[u8], parts: &mut Parts) -> Result<(), Missing> {
        match self {
            Self::Record => {
                parts.push(record);
                Ok(())
            }
            Self::Fields(fields) => {
                fields.find(record, parts);
                Ok(())
            }
            Self::Csv(columns) => {
                columns.find(record, parts);
                Ok(())
            }
            Self::Json(pointers) => pointers.find(record, parts),
            Self::Regex(pattern) => pattern.find(record, parts),
        }
    }

    /// Whether it always finds one part.
    pub(super) fn finds_one_part(&self) -> bool {
        !matches!(self, Self::Fields(fields) if fields.is_open())
    }

    /// Whether a part without a byte is like one that the record lacks: one of a record or of a match is not.
    pub(super) fn finds_values(&self) -> bool {
        matches!(self, Self::Fields(_) | Self::Csv(_) | Self::Json(_))
    }
}

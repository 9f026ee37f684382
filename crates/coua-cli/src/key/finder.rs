//! Where the key is in a record.

use super::parts::{Missing, Parts};
use super::{csv, fields, json, regex};
use crate::terminal::message::Failure;

/// Where the key is in a record.
#[derive(Clone, Debug)]
pub(crate) enum Finder {
    Record,
    Fields(Box<fields::Fields>),
    Csv(Box<csv::Columns>),
    Json(json::Pointers),
    Regex(regex::Pattern),
}

impl Finder {
    /// Fields of a `-k` list, between separators or (without one) blanks.
    pub(crate) fn fields(list: &str, separator: Option<&[u8]>) -> Result<Self, Failure> {
        Ok(Self::Fields(Box::new(fields::Fields::new(list, separator)?)))
    }

    /// Columns of CSV records.
    pub(crate) fn csv(wanted: Vec<csv::Column>, comma: Option<&[u8]>) -> Result<Self, Failure> {
        Ok(Self::Csv(Box::new(csv::Columns::new(wanted, comma)?)))
    }

    /// What JSON pointers find.
    pub(crate) fn json(pointers: &[String]) -> Result<Self, Failure> {
        Ok(Self::Json(json::Pointers::new(pointers)?))
    }

    /// What a regular expression finds.
    pub(crate) fn regex(pattern: &str) -> Result<Self, Failure> {
        Ok(Self::Regex(regex::Pattern::new(pattern)?))
    }

    pub(super) fn find(&mut self, record: &[u8], parts: &mut Parts) -> Result<(), Missing> {
        match self {
            Self::Record => {
                parts.push(record);
                Ok(())
            }
            Self::Fields(fields) => fields.find(record, parts),
            Self::Csv(columns) => columns.find(record, parts),
            Self::Json(pointers) => pointers.find(record, parts),
            Self::Regex(pattern) => pattern.find(record, parts),
        }
    }

    /// Gives back the memory that a giant record took.
    pub(super) fn shrink(&mut self) {
        if let Self::Csv(columns) = self {
            columns.shrink();
        }
    }
}

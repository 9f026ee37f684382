//! The C library as its users have it: its header, and programs in C and C++.

mod compile;
mod documents;
mod exchange;
mod header;
mod installed;
mod programs;

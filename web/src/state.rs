//! State between two calls.

use std::cell::RefCell;
use std::fmt::Display;

use coua::window::Generations;
use serde::Serialize;

use crate::opened::OpenFile;

/// The result of a failed call; the output is the message.
pub(crate) const FAILED: i32 = -1;

/// Bytes of a buffer that stay allocated.
const LARGE: usize = 1 << 24;

#[derive(Default)]
pub(crate) struct State {
    pub(crate) input: Vec<u8>,
    pub(crate) output: Vec<u8>,
    pub(crate) filters: Slab<Generations>,
    pub(crate) files: Slab<OpenFile>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Lets a call use the state. There is one thread, and no call is made from another.
pub(crate) fn with<R>(call: impl FnOnce(&mut State) -> R) -> R {
    STATE.with_borrow_mut(call)
}

/// Makes room for `length` bytes in all; for twice as many if the buffer grows and there is enough memory.
pub(crate) fn reserve(buffer: &mut Vec<u8>, length: usize) -> Result<(), String> {
    let more = length.saturating_sub(buffer.len());
    let reserved = buffer.try_reserve(more).or_else(|_| buffer.try_reserve_exact(more));
    reserved.map_err(|_| {
        format!("out of memory for {length} bytes; free a filter, or use a smaller one")
    })
}

impl State {
    /// Empties the output, and makes room for `length` bytes. A large output is not kept for a small one.
    pub(crate) fn empty_output(&mut self, length: usize) -> Result<(), String> {
        self.output.clear();
        if self.output.capacity() > LARGE && length <= LARGE {
            self.output = Vec::new();
        }
        reserve(&mut self.output, length)
    }

    /// Makes a message the output.
    pub(crate) fn fail(&mut self, message: impl Display) -> i32 {
        self.output.clear();
        self.output.extend_from_slice(message.to_string().as_bytes());
        FAILED
    }

    /// Makes an answer the output. Returns `number`.
    pub(crate) fn answer(&mut self, answer: &impl Serialize, number: i32) -> i32 {
        self.output.clear();
        match serde_json::to_writer(&mut self.output, answer) {
            Ok(()) => number,
            Err(error) => self.fail(error),
        }
    }

    /// Returns the number that `result` holds, or makes its error the output.
    pub(crate) fn settle<E: Display>(&mut self, result: Result<i32, E>) -> i32 {
        result.unwrap_or_else(|error| self.fail(error))
    }
}

/// A count as JavaScript gets it. Memory of 32-bit addresses holds no more of anything.
pub(crate) fn number_of(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Values with numbers by which JavaScript names them.
pub(crate) struct Slab<T> {
    values: Vec<Option<T>>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { values: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Adds a value. Returns its number.
    pub(crate) fn add(&mut self, value: T) -> i32 {
        let free = self.values.iter().position(Option::is_none);
        let number = free.unwrap_or_else(|| {
            self.values.push(None);
            self.values.len() - 1
        });
        self.values[number] = Some(value);
        number_of(number)
    }

    /// The value of this number.
    ///
    /// # Panics
    ///
    /// If it was removed, or never was: the JavaScript around it is wrong.
    pub(crate) fn get(&mut self, number: i32) -> &mut T {
        let value = usize::try_from(number).ok().and_then(|at| self.values.get_mut(at)?.as_mut());
        value.expect("the number of a value that is there")
    }

    /// Two different ones, the second to be read.
    ///
    /// # Panics
    ///
    /// As [`get`](Self::get).
    pub(crate) fn pair(&mut self, first: i32, second: i32) -> (&mut T, &T) {
        let at = [first, second].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        let pair = self.values.get_disjoint_mut(at).ok();
        let [first, second] = pair.expect("numbers of two values");
        let value = "the number of a value that is there";
        (first.as_mut().expect(value), second.as_ref().expect(value))
    }

    pub(crate) fn remove(&mut self, number: i32) {
        if let Some(value) = usize::try_from(number).ok().and_then(|at| self.values.get_mut(at)) {
            *value = None;
        }
    }
}

/// Keys, each with its length before it.
pub(crate) struct Keys<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Keys<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk()?;
        let length = u32::from_le_bytes(*length) as usize;
        let (key, rest) = rest.split_at(length.min(rest.len()));
        self.0 = rest;
        Some(key)
    }
}

//! State between two calls.

use std::cell::RefCell;
use std::fmt::Display;

use coua::window::Generations;

use crate::view::Snapshot;

/// The result of a failed call; the output is the message.
const FAILED: i32 = -1;

/// Bytes of a buffer that stay allocated.
const LARGE: usize = 1 << 24;

#[derive(Default)]
pub(crate) struct State {
    pub(crate) input: Vec<u8>,
    pub(crate) output: Vec<u8>,
    pub(crate) filters: Filters,
    pub(crate) snapshot: Option<Snapshot>,
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

    /// Makes an answer the output (JSON), or its error.
    pub(crate) fn answer<E: Display>(&mut self, answer: Result<String, E>) -> i32 {
        let written = answer.map(|json| {
            self.output = json.into_bytes();
            0
        });
        self.settle(written)
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

/// Filters with numbers by which JavaScript names them.
#[derive(Default)]
pub(crate) struct Filters(Vec<Option<Generations>>);

const THERE: &str = "JavaScript names a filter that is there";

impl Filters {
    /// Adds a filter. Returns its number.
    pub(crate) fn add(&mut self, filter: Generations) -> i32 {
        let free = self.0.iter().position(Option::is_none);
        let number = free.unwrap_or_else(|| {
            self.0.push(None);
            self.0.len() - 1
        });
        self.0[number] = Some(filter);
        number_of(number)
    }

    /// The filter of this number.
    ///
    /// # Panics
    ///
    /// If it was removed, or never was: the JavaScript around it is wrong.
    pub(crate) fn get(&mut self, number: usize) -> &mut Generations {
        self.0[number].as_mut().expect(THERE)
    }

    /// Two different ones, the second to be read.
    ///
    /// # Panics
    ///
    /// As [`get`](Self::get).
    pub(crate) fn pair(&mut self, first: usize, second: usize) -> (&mut Generations, &Generations) {
        let [first, second] = self.0.get_disjoint_mut([first, second]).expect(THERE);
        (first.as_mut().expect(THERE), second.as_ref().expect(THERE))
    }

    pub(crate) fn remove(&mut self, number: usize) {
        self.0[number] = None;
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

//! Keys and their values.

use std::ffi::{CStr, c_int};
use std::marker::PhantomData;

use super::value_type::{VALUES, ValueType};
use super::{Call, OK, raw, server_function};
use crate::error::CommandError;

/// A key that is open while a command runs. Its value, if there is one, is a `T`.
pub(crate) struct Key<'a, T: ValueType> {
    context: *mut raw::RedisModuleCtx,
    raw: *mut raw::RedisModuleKey,
    name: *mut raw::RedisModuleString,
    /// The value's place; null if there is none.
    pointer: *mut T,
    /// Bytes of the value before it was changed, if it was.
    bytes_before: Option<usize>,
    value: PhantomData<(&'a (), T)>,
}

impl Call<'_> {
    /// Opens the key that is the word with this number, to read.
    pub(crate) fn key<T: ValueType>(&self, word: usize) -> Result<Key<'_, T>, CommandError> {
        self.open(word, raw::REDISMODULE_READ)
    }

    /// Opens the key that is the word with this number, to change.
    pub(crate) fn key_to_change<T: ValueType>(
        &self,
        word: usize,
    ) -> Result<Key<'_, T>, CommandError> {
        self.open(word, raw::REDISMODULE_READ | raw::REDISMODULE_WRITE)
    }

    fn open<T: ValueType>(&self, word: usize, mode: c_int) -> Result<Key<'_, T>, CommandError> {
        let name = self.string(word);
        // SAFETY: context and name are valid while the command runs; a key opened for reading may
        // be null if it is missing.
        let raw = unsafe { server_function!(RedisModule_OpenKey)(self.context, name, mode) };
        let mut key = Key {
            context: self.context,
            raw,
            name,
            pointer: std::ptr::null_mut(),
            bytes_before: None,
            value: PhantomData,
        };
        // SAFETY: an open key, or null, which the function knows.
        let found = unsafe { server_function!(RedisModule_ModuleTypeGetType)(raw) };
        if found == VALUES.pointer() {
            // SAFETY: an open key with a value of the type.
            key.pointer = unsafe { server_function!(RedisModule_ModuleTypeGetValue)(raw) }.cast();
        } else if !key.is_empty() {
            return Err(CommandError::WrongType);
        }
        Ok(key)
    }
}

impl<T: ValueType> Key<'_, T> {
    fn is_empty(&self) -> bool {
        // SAFETY: an open key, or null, which the function knows.
        let kind = unsafe { server_function!(RedisModule_KeyType)(self.raw) };
        kind == raw::REDISMODULE_KEYTYPE_EMPTY
    }

    /// The value.
    pub(crate) fn value(&self) -> Option<&T> {
        // SAFETY: the type was checked when the key was opened, values of this type are made by
        // `set` and `native` only, and the borrow of the key keeps others from changing it.
        unsafe { self.pointer.as_ref() }
    }

    /// Bytes of the value before it is changed, or was; 0 if there is none.
    pub(crate) fn bytes_before(&mut self) -> usize {
        self.bytes_before = self.bytes_before.or_else(|| self.value().map(T::memory_bytes));
        self.bytes_before.unwrap_or_default()
    }

    /// The value, to be changed.
    pub(crate) fn value_mut(&mut self) -> Option<&mut T> {
        self.bytes_before();
        // SAFETY: as in `value`; the server runs one command at a time, and the mutable borrow of
        // the key makes this the only reference. (A command that opens a key twice reads one before
        // it changes the other.)
        unsafe { self.pointer.as_mut() }
    }

    /// Gives a key that has no value this one.
    pub(crate) fn set(&mut self, value: T) -> Result<&mut T, CommandError> {
        let pointer = VALUES.give_to_server(value);
        // SAFETY: the key is open for changes, and the pointer belongs to the server from here on;
        // it comes back in `free` of the type.
        let set = unsafe {
            server_function!(RedisModule_ModuleTypeSetValue)(
                self.raw,
                VALUES.pointer(),
                pointer.cast(),
            )
        };
        if set != OK {
            // SAFETY: the server did not take it.
            unsafe { VALUES.take_back(pointer) };
            return Err(CommandError::Defect);
        }
        self.pointer = pointer;
        self.value_mut().ok_or(CommandError::Defect)
    }

    /// Tells clients that watch the key, and those that listen to events, that it has changed.
    pub(crate) fn notify_changed(&self, event: &CStr) {
        // SAFETY: context and name are valid while the command runs; the server copies the event.
        unsafe {
            server_function!(RedisModule_SignalModifiedKey)(self.context, self.name);
            server_function!(RedisModule_NotifyKeyspaceEvent)(
                self.context,
                raw::REDISMODULE_NOTIFY_MODULE,
                event.as_ptr(),
                self.name,
            );
        }
    }
}

impl<T: ValueType> Drop for Key<'_, T> {
    fn drop(&mut self) {
        if let (Some(before), Some(value)) = (self.bytes_before, self.value()) {
            VALUES.count_resize(before, value.memory_bytes());
        }
        // SAFETY: opened in `open`, closed only here; null is allowed.
        unsafe { server_function!(RedisModule_CloseKey)(self.raw) };
    }
}

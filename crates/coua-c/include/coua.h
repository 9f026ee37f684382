// coua.h: cuckoo filters that answer "have I seen this before?" in a few bytes per key, for C11 and C++17.
// docs/c.md is the guide. This file is generated from the sources of libcoua.
//
// The rules for every call:
//
// * It returns a coua_status: COUA_OK (0), or the reason of the failure. Results are stored through pointers, and are
//   unspecified after a failure. coua_last_error() returns the message.
// * A handle comes from a call of this library, and must be freed once, by coua_free(). Any thread may make any call
//   with any handle at any time, except coua_free(). Calls that change a filter (those without const) wait for each
//   other; coua_shared_create() creates a filter that threads can change concurrently.
// * Other pointers must be valid during the call for everything that is read or written there; the library does not
//   keep them. NULL is an error unless the comment allows it, or its length or count is 0. A misaligned, overlapping
//   or impossibly large argument is an error.
// * A failed call changes nothing, unless its comment says otherwise.
// * A key has the same hash, and a filter the same bytes, in every language and on every machine.

#ifndef COUA_H
#define COUA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
// The version of this file; coua_version() is that of the library.
#define COUA_VERSION "0.1.0"

#if defined(_WIN32) && defined(COUA_SHARED)
#define COUA_API __declspec(dllimport)
#else
#define COUA_API
#endif

// The answer for a key that a batch did not insert, because there was no room, or the batch had stopped before.
#define COUA_REFUSED 2

// The result of a call: 0, or the reason of the failure. A failed call changes nothing, unless its comment says
// otherwise.
typedef enum {
  // Done.
  COUA_OK = 0,
  // An argument is null, misaligned, overlapping, too large, or invalid.
  COUA_INVALID = 1,
  // The filter has no room for a key.
  COUA_FULL = 2,
  // There is not enough memory for a filter, a copy of it, or a batch. (If a few kilobytes are missing, or memory
  // runs out within a batch, the process aborts, as Rust programs do.)
  COUA_OUT_OF_MEMORY = 3,
  // The bytes or the file are not a complete filter, or its secret key is missing or wrong.
  COUA_NOT_A_FILTER = 4,
  // Two filters cannot be merged, or the filter in a file differs from the options.
  COUA_MISMATCH = 5,
  // An error of the operating system.
  COUA_IO = 6,
  // Another process, or another handle of this one, is writing the file.
  COUA_BUSY = 7,
  // Filters of this kind do not support the call.
  COUA_UNSUPPORTED = 8,
  // The buffer is too small; the required length was stored.
  COUA_TOO_SMALL = 9,
  // An earlier call failed internally, so the filter is unusable: only coua_free() accepts it.
  COUA_POISONED = 10,
  // The call failed internally, because of a bug in this library. Its filter is now poisoned.
  COUA_PANIC = 11,
} coua_status;

// What a filter does when it has no room for a key.
typedef enum {
  // It grows, up to max_items.
  COUA_GROW = 0,
  // It refuses the key: COUA_FULL.
  COUA_REFUSE = 1,
  // It grows, even beyond max_items, where its rate rises.
  COUA_EXCEED = 2,
} coua_when_full;

// The clock of a filter's window.
typedef enum {
  // No window.
  COUA_CLOCK_NONE = 0,
  // The system's clock.
  COUA_CLOCK_ARRIVAL = 1,
  // The times given to coua_window_advance() and coua_window_insert_unique_batch(), in milliseconds.
  COUA_CLOCK_GIVEN = 2,
  // The number of keys.
  COUA_CLOCK_COUNT = 3,
} coua_clock;

// When the age of a key begins in a filter with a window.
typedef enum {
  // When it was inserted.
  COUA_BY_FIRST_SEEN = 0,
  // At the last call that inserted it, or would have inserted it if absent: a repeat extends its time.
  COUA_BY_LAST_SEEN = 1,
} coua_window_by;

// The memory layout of the keys of a batch.
typedef enum {
  // data: const void *[count], each key. sizes: size_t[count], their lengths in bytes.
  COUA_KEYS_POINTERS = 0,
  // data: the bytes of all keys, one after the other. sizes: int32_t[count + 1], the beginning of each key and the
  // end of the last one, as in Arrow's string arrays.
  COUA_KEYS_OFFSETS_32 = 1,
  // The same with int64_t, as in Arrow's large string arrays.
  COUA_KEYS_OFFSETS_64 = 2,
  // data: uint64_t[count]. sizes: NULL.
  COUA_KEYS_U64 = 3,
  // data: uint64_t[count], hashes from coua_hash(). sizes: NULL.
  COUA_KEYS_HASHES = 4,
} coua_key_kind;

// A filter of any kind. Any thread may make any call with it at any time, except coua_free().
typedef struct coua_filter coua_filter;

// The options of a filter. Call coua_options_init() first; 0 means the default.
typedef struct {
  // sizeof(coua_options), set by coua_options_init().
  size_t size;
  // Keys to make room for at once.
  uint64_t capacity;
  // The highest false-positive rate, such as 0.001, with max_items keys. Without a rate and hash_bits, all 64 bits
  // of every key's hash are stored: among a billion keys, 0.03 wrong answers are expected.
  double rate;
  // Keys up to which the rate holds. Default with a rate: capacity.
  uint64_t max_items;
  // The seed of the hash.
  uint64_t seed;
  // A secret key of 16 bytes instead of a seed, if an attacker may choose keys that collide; or NULL.
  const uint8_t *key;
  // The length of the window: milliseconds, or keys.
  uint64_t window_length;
  // A coua_clock.
  uint32_t window_clock;
  // Parts of the window, of which the oldest is forgotten as a whole. Default: 8.
  uint32_t window_generations;
  // A coua_window_by.
  uint32_t window_by;
  // Bits of every key's hash to store, instead of a rate.
  uint32_t hash_bits;
  // A coua_when_full.
  uint32_t when_full;
} coua_options;

// The keys of a batch.
typedef struct {
  // A coua_key_kind.
  uint32_t kind;
  // The number of keys.
  size_t count;
  // The keys, in the layout of the kind.
  const void *data;
  // The bounds of the keys, in the layout of the kind.
  const void *sizes;
} coua_keys;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library, such as "0.1.0".
COUA_API const char *coua_version(void);

// The message of this thread's last failed call: what was found, what was expected, what to do. Never NULL. Valid
// until the next failed call of this thread.
COUA_API const char *coua_last_error(void);

// The operating system's error number that caused that failure (errno; on Windows, GetLastError()), or 0. For example,
// ENOENT for a missing file.
COUA_API int32_t coua_last_os_error(void);

// The name of a coua_status, such as "COUA_FULL".
COUA_API const char *coua_status_name(int32_t status);

// Sets all options to 0, and their size: coua_options_init(&options, sizeof options).
COUA_API coua_status coua_options_init(coua_options *options, size_t size);

// Creates a filter in memory. options may be NULL: then it grows and stores 64 bits of every key's hash. As in all
// calls that create a filter, the last argument receives the handle, or NULL if the call fails. Free it with
// coua_free().
COUA_API coua_status coua_create(const coua_options *options, coua_filter **created);

// Copies a filter in memory. The copy of a filter in a file does not belong to a file.
COUA_API coua_status coua_clone(const coua_filter *filter, coua_filter **created);

// Frees a filter; NULL does nothing. Changes that were not committed to its file are lost. No other call may use this
// handle at the same time or later.
COUA_API void coua_free(coua_filter *filter);

// Removes all keys. A window keeps its clock.
COUA_API coua_status coua_clear(coua_filter *filter);

// Frees memory after many keys were removed.
COUA_API coua_status coua_compact(coua_filter *filter);

// Adds every copy of every key of another filter with the same hash. COUA_MISMATCH if the filters cannot be merged.
COUA_API coua_status coua_merge(coua_filter *filter, const coua_filter *other);

// Adds the keys of another filter that are absent in this one: the union of sets.
COUA_API coua_status coua_merge_unique(coua_filter *filter, const coua_filter *other);

// The hash of a key of any bytes in this filter. With the same seed or secret key it is the same everywhere.
COUA_API coua_status coua_hash(const coua_filter *filter, const void *key, size_t length, uint64_t *hash);

// Adds a copy of a key, of any bytes; a key may have any number of copies. COUA_FULL if there is no room.
COUA_API coua_status coua_insert(coua_filter *filter, const void *key, size_t length);

// coua_insert() for an integer: the key of its eight bytes, little endian.
COUA_API coua_status coua_insert_u64(coua_filter *filter, uint64_t key);

// coua_insert() for the hash of a key.
COUA_API coua_status coua_insert_hash(coua_filter *filter, uint64_t hash);

// Adds a key if it is absent. is_new receives whether it was; it may be NULL. COUA_FULL if it is absent and there is
// no room.
COUA_API coua_status coua_insert_unique(coua_filter *filter, const void *key, size_t length, bool *is_new);

// coua_insert_unique() for an integer: the key of its eight bytes, little endian.
COUA_API coua_status coua_insert_unique_u64(coua_filter *filter, uint64_t key, bool *is_new);

// coua_insert_unique() for the hash of a key.
COUA_API coua_status coua_insert_unique_hash(coua_filter *filter, uint64_t hash, bool *is_new);

// Checks whether a key is present. If it is, found is always true; if not, found is true with the probability of the
// false-positive rate.
COUA_API coua_status coua_contains(const coua_filter *filter, const void *key, size_t length, bool *found);

// coua_contains() for an integer: the key of its eight bytes, little endian.
COUA_API coua_status coua_contains_u64(const coua_filter *filter, uint64_t key, bool *found);

// coua_contains() for the hash of a key.
COUA_API coua_status coua_contains_hash(const coua_filter *filter, uint64_t hash, bool *found);

// Removes one copy of a key. removed receives whether there was one; it may be NULL. Remove only what was inserted:
// another key may look like an inserted one, which is then removed.
COUA_API coua_status coua_remove(coua_filter *filter, const void *key, size_t length, bool *removed);

// coua_remove() for an integer: the key of its eight bytes, little endian.
COUA_API coua_status coua_remove_u64(coua_filter *filter, uint64_t key, bool *removed);

// coua_remove() for the hash of a key.
COUA_API coua_status coua_remove_hash(coua_filter *filter, uint64_t hash, bool *removed);

// Counts the copies of a key.
COUA_API coua_status coua_count(const coua_filter *filter, const void *key, size_t length, uint64_t *copies);

// coua_count() for an integer: the key of its eight bytes, little endian.
COUA_API coua_status coua_count_u64(const coua_filter *filter, uint64_t key, uint64_t *copies);

// coua_count() for the hash of a key.
COUA_API coua_status coua_count_hash(const coua_filter *filter, uint64_t hash, uint64_t *copies);

// coua_insert() for many keys. inserted receives 1 for each, or COUA_REFUSED; it may be NULL. COUA_FULL if any was
// refused; the others are inserted.
COUA_API coua_status coua_insert_batch(coua_filter *filter, const coua_keys *keys, uint8_t *inserted);

// coua_insert_unique() for many keys. is_new receives 1 for each that was absent, 0 for each that was present, or
// COUA_REFUSED; it may be NULL. COUA_FULL if any was refused; the others are inserted.
COUA_API coua_status coua_insert_unique_batch(coua_filter *filter, const coua_keys *keys, uint8_t *is_new);

// coua_contains() for many keys. found receives 1 for each that is present, and 0 for the others.
COUA_API coua_status coua_contains_batch(const coua_filter *filter, const coua_keys *keys, uint8_t *found);

// coua_remove() for many keys. removed receives 1 for each of which a copy was removed, and 0 for the others; it may
// be NULL.
COUA_API coua_status coua_remove_batch(coua_filter *filter, const coua_keys *keys, uint8_t *removed);

// coua_count() for many keys.
COUA_API coua_status coua_count_batch(const coua_filter *filter, const coua_keys *keys, uint64_t *copies);

// Sets the time of a filter with COUA_CLOCK_GIVEN, in milliseconds. Keys that leave its window are forgotten. A time
// before the last one changes nothing, so after a time in the far future all later keys count as inserted then.
COUA_API coua_status coua_window_advance(coua_filter *filter, uint64_t time);

// coua_insert_unique_batch() for a filter with COUA_CLOCK_GIVEN, with a time for each key, in milliseconds, in any
// order.
COUA_API
coua_status coua_window_insert_unique_batch(coua_filter *filter,
                                            const coua_keys *keys,
                                            const uint64_t *times,
                                            uint8_t *is_new);

// Keys in the filter, counting every copy.
COUA_API coua_status coua_len(const coua_filter *filter, uint64_t *items);

// Keys that its memory is planned for.
COUA_API coua_status coua_capacity(const coua_filter *filter, uint64_t *items);

// Bytes of its memory.
COUA_API coua_status coua_memory(const coua_filter *filter, uint64_t *bytes);

// Its false-positive rate now.
COUA_API coua_status coua_rate(const coua_filter *filter, double *rate);

// Describes the filter: a JSON object with the fields of `coua info --json`. It includes key_options if the program
// made the keys of its file: this library does not apply their "normalize" (ignore-case, trim, url), so pass
// normalized keys. text receives the object and a zero byte, if it is shorter than capacity; length receives its
// length without the zero. Otherwise COUA_TOO_SMALL; call it with NULL and 0 to get the length.
COUA_API coua_status coua_describe(const coua_filter *filter, char *text, size_t capacity, size_t *length);

// Writes the filter to a file in one step. An existing file must be a filter or empty. Every coua program and package
// can read it. COUA_BUSY while another process or handle is writing the file.
COUA_API coua_status coua_save(const coua_filter *filter, const char *path);

// Reads a filter file of any coua program or package into memory. key: the 16 bytes of its secret key, or NULL. Later
// changes do not affect the file; coua_store_open() works on the file itself. Bytes after the last commit, which an
// interrupted write leaves, are ignored; `coua verify` reports them.
COUA_API coua_status coua_load(const char *path, const uint8_t *key, coua_filter **created);

// Writes the bytes of coua_save() to a buffer, if they fit in capacity; length receives their length. Otherwise
// COUA_TOO_SMALL; call it with NULL and 0 to get the length.
COUA_API coua_status coua_to_bytes(const coua_filter *filter, void *bytes, size_t capacity, size_t *length);

// Reads the bytes of coua_to_bytes(), or of a file. key as in coua_load().
COUA_API coua_status coua_from_bytes(const void *bytes, size_t length, const uint8_t *key, coua_filter **created);

// Opens the filter in a file, or creates it with the options; an existing filter must agree with them (COUA_MISMATCH).
// The file is mapped, and always holds the state of the last commit. One process writes at a time: another one waits,
// or gets COUA_BUSY if wait is 0. A file that this process already has open is COUA_BUSY at once. Bytes after the last
// commit are removed.
COUA_API
coua_status coua_store_open(const char *path,
                            const coua_options *options,
                            int32_t wait,
                            coua_filter **created);

// Opens the last commit of the filter in a file, read-only, without waiting for a writer. key as in coua_load(). A
// large file is mapped: while it is open it may be replaced, but not truncated in place, which would end the process
// by SIGBUS.
COUA_API coua_status coua_store_read(const char *path, const uint8_t *key, coua_filter **created);

// Makes all changes durable. If that fails, they are kept, and the next commit tries again.
COUA_API coua_status coua_store_commit(coua_filter *filter);

// Commits, and closes the file. If the commit fails, the file stays open, and can be committed or closed again.
// Afterwards only coua_free() accepts the handle.
COUA_API coua_status coua_store_close(coua_filter *filter);

// Creates a filter in memory that threads can change concurrently: it is split into parts with a lock each. It
// supports the calls of other filters, except coua_compact() and merging into it.
COUA_API coua_status coua_shared_create(const coua_options *options, coua_filter **created);

// Creates a shared filter with the keys of another one, such as a loaded filter.
COUA_API coua_status coua_shared_from(const coua_filter *filter, coua_filter **created);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* COUA_H */

// coua.h: cuckoo filters that answer "have I seen this before?" in a few bytes a key, for C11 and C++17.
// docs/c.md is the guide. This file is written from the sources of libcoua.
//
// The rules for every call:
//
// * It returns a coua_status: COUA_OK (0), or why it failed. Results go through pointers, and are unspecified if it
//   failed. coua_last_error() is the message.
// * A handle comes from a call of this library, and is freed once, by coua_free(). Any thread may make any call with
//   any handle at any time, except coua_free(). Calls that change a filter (those without const) wait for each other;
//   coua_shared_create() makes a filter that threads change side by side.
// * Other pointers must be valid for what is read or written there during the call; nothing is kept. NULL is an error
//   unless the comment allows it, or its length or count is 0. A misaligned, overlapping or impossibly large argument
//   is an error.
// * A call that failed changed nothing, unless its comment says otherwise.
// * The same key has the same hash, and the same filter the same bytes, in every language and on every machine.

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

// The answer for a key that a batch did not insert: there was no room, or the batch stopped before.
#define COUA_REFUSED 2

// What a call returns: 0, or why it failed. A call that failed has changed nothing, unless its comment says otherwise.
typedef enum {
  // Done.
  COUA_OK = 0,
  // An argument is null, misaligned, overlaps with another one, is too large, or has no meaning.
  COUA_INVALID = 1,
  // The filter has no room for a key.
  COUA_FULL = 2,
  // There is not enough memory for a filter, a copy of it, or a batch. (Where a few kilobytes are missing, or memory runs
  // out within a batch, the process ends, as programs in Rust do.)
  COUA_OUT_OF_MEMORY = 3,
  // The bytes or the file are no whole filter, or its secret key is missing or wrong.
  COUA_NOT_A_FILTER = 4,
  // Two filters cannot be merged, or a file has not the filter that the options describe.
  COUA_MISMATCH = 5,
  // The operating system refused something.
  COUA_IO = 6,
  // Another process, or another handle of this one, is writing the file.
  COUA_BUSY = 7,
  // Filters of this kind cannot do that.
  COUA_UNSUPPORTED = 8,
  // The buffer is too small; the length that is needed was stored.
  COUA_TOO_SMALL = 9,
  // An earlier call failed inside, so the filter is not whole any more: only coua_free() takes it.
  COUA_POISONED = 10,
  // The call failed inside: an error of this library. Its filter is poisoned now.
  COUA_PANIC = 11,
} coua_status;

// How buckets lie in the table.
typedef enum {
  // One after the other.
  COUA_LAYOUT_BUCKETS = 0,
  // Each overlaps with the next: smaller, slower.
  COUA_LAYOUT_OVERLAPPING = 1,
} coua_layout;

// What a filter does with a key for which there is no room.
typedef enum {
  // It grows, up to max_items.
  COUA_GROW = 0,
  // It refuses the key: COUA_FULL.
  COUA_REFUSE = 1,
  // It grows, also beyond max_items, where its rate rises.
  COUA_EXCEED = 2,
} coua_when_full;

// What a filter that forgets goes by.
typedef enum {
  // It never forgets.
  COUA_CLOCK_NONE = 0,
  // The system's clock.
  COUA_CLOCK_ARRIVAL = 1,
  // The times that coua_window_advance() and coua_window_insert_unique_batch() tell, in milliseconds.
  COUA_CLOCK_GIVEN = 2,
  // The number of keys.
  COUA_CLOCK_COUNT = 3,
} coua_clock;

// From when a filter that forgets counts the age of a key.
typedef enum {
  // From when it was inserted.
  COUA_BY_FIRST_SEEN = 0,
  // From when it was last to be inserted by a call that inserts only absent keys: a repeat prolongs its life.
  COUA_BY_LAST_SEEN = 1,
} coua_window_by;

// How the keys of a batch lie in memory.
typedef enum {
  // data: const void *[count], each key. sizes: size_t[count], their lengths in bytes.
  COUA_KEYS_POINTERS = 0,
  // data: the bytes of all keys, one after the other. sizes: int32_t[count + 1], where each begins, and where the last
  // one ends: as in Arrow's string arrays.
  COUA_KEYS_OFFSETS_32 = 1,
  // The same with int64_t, as in Arrow's large string arrays.
  COUA_KEYS_OFFSETS_64 = 2,
  // data: uint64_t[count]. sizes: NULL.
  COUA_KEYS_U64 = 3,
  // data: uint64_t[count], hashes as of coua_hash(). sizes: NULL.
  COUA_KEYS_HASHES = 4,
} coua_key_kind;

// A filter of any kind. Any thread may make any call with it at any time, except coua_free().
typedef struct coua_filter coua_filter;

// How a filter is to be. Call coua_options_init() first; what is left at 0 is left to the library.
typedef struct {
  // sizeof(coua_options), set by coua_options_init().
  size_t size;
  // Keys to make room for at once.
  uint64_t capacity;
  // The highest false-positive rate, such as 0.001, with as many keys as max_items. Without a rate and hash_bits, all
  // 64 bits of every key's hash are stored: among a billion keys, 0.03 wrong answers are expected.
  double rate;
  // Keys up to which the rate holds; capacity, if there is a rate.
  uint64_t max_items;
  // The seed of the hash.
  uint64_t seed;
  // A secret key of 16 bytes instead of a seed, where keys may be chosen to collide; or NULL.
  const uint8_t *key;
  // How far back a filter remembers that forgets: milliseconds, or keys.
  uint64_t window_length;
  // A coua_clock.
  uint32_t window_clock;
  // Parts of the window, of which the oldest is forgotten at once; 8.
  uint32_t window_generations;
  // A coua_window_by.
  uint32_t window_by;
  // Bits of every key's hash to store, instead of a rate.
  uint32_t hash_bits;
  // A coua_layout.
  uint32_t layout;
  // A coua_when_full.
  uint32_t when_full;
} coua_options;

// The keys of a batch.
typedef struct {
  // A coua_key_kind.
  uint32_t kind;
  // How many keys there are.
  size_t count;
  // The keys, as the kind says.
  const void *data;
  // Where each key begins and ends, as the kind says.
  const void *sizes;
} coua_keys;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library, such as "0.1.0".
COUA_API const char *coua_version(void);

// What was wrong with the last call of this thread that failed: what was found, what was expected, what to do. Never
// NULL. It stays until the next call of this thread that fails.
COUA_API const char *coua_last_error(void);

// The number of the operating system's error that was its cause, as errno has it (in Windows, GetLastError()), or 0:
// such as ENOENT for a file that is missing.
COUA_API int32_t coua_last_os_error(void);

// The name of a coua_status, such as "COUA_FULL".
COUA_API const char *coua_status_name(int32_t status);

// Sets all options to 0, and their size: coua_options_init(&options, sizeof options).
COUA_API coua_status coua_options_init(coua_options *options, size_t size);

// Makes a filter in memory. options may be NULL: then it grows and stores 64 bits of every key's hash. The last
// argument gets the handle, or NULL if the call fails, as in all calls that make a filter. coua_free() frees it.
COUA_API coua_status coua_create(const coua_options *options, coua_filter **created);

// Makes a copy in memory. The copy of a filter in a file is in no file.
COUA_API coua_status coua_clone(const coua_filter *filter, coua_filter **created);

// Frees a filter; NULL does nothing. What was not committed to its file is lost. No other call with this handle may be
// at work, or come later.
COUA_API void coua_free(coua_filter *filter);

// Removes all keys.
COUA_API coua_status coua_clear(coua_filter *filter);

// Gives memory back after many keys were removed.
COUA_API coua_status coua_compact(coua_filter *filter);

// Adds every copy of every key of another filter with the same hash. COUA_MISMATCH if the two differ too much.
COUA_API coua_status coua_merge(coua_filter *filter, const coua_filter *other);

// Adds the keys of another filter that are absent in this one, as sets are united.
COUA_API coua_status coua_merge_unique(coua_filter *filter, const coua_filter *other);

// The hash of a key of any bytes, as this filter hashes keys. With the same seed or secret key it is the same
// everywhere.
COUA_API coua_status coua_hash(const coua_filter *filter, const void *key, size_t length, uint64_t *hash);

// Adds a copy of a key, of any bytes; a key may have any number of copies. COUA_FULL if there is no room.
COUA_API coua_status coua_insert(coua_filter *filter, const void *key, size_t length);

// coua_insert() for an integer: the key of its eight bytes, little endian.
COUA_API coua_status coua_insert_u64(coua_filter *filter, uint64_t key);

// coua_insert() for a key that was hashed before.
COUA_API coua_status coua_insert_hash(coua_filter *filter, uint64_t hash);

// Adds a key if it is absent. is_new says whether it was; it may be NULL. COUA_FULL if it is absent and there is no
// room.
COUA_API coua_status coua_insert_unique(coua_filter *filter, const void *key, size_t length, bool *is_new);

// coua_insert_unique() for an integer: the key of its eight bytes, little endian.
COUA_API coua_status coua_insert_unique_u64(coua_filter *filter, uint64_t key, bool *is_new);

// coua_insert_unique() for a key that was hashed before.
COUA_API coua_status coua_insert_unique_hash(coua_filter *filter, uint64_t hash, bool *is_new);

// Finds out whether a key is there. If it is, found is always true; if it is not, found is true with the probability
// of the false-positive rate.
COUA_API coua_status coua_contains(const coua_filter *filter, const void *key, size_t length, bool *found);

// coua_contains() for an integer: the key of its eight bytes, little endian.
COUA_API coua_status coua_contains_u64(const coua_filter *filter, uint64_t key, bool *found);

// coua_contains() for a key that was hashed before.
COUA_API coua_status coua_contains_hash(const coua_filter *filter, uint64_t hash, bool *found);

// Removes one copy of a key. removed says whether there was one; it may be NULL. Remove only what was inserted: a key
// that was not may be taken for another one.
COUA_API coua_status coua_remove(coua_filter *filter, const void *key, size_t length, bool *removed);

// coua_remove() for an integer: the key of its eight bytes, little endian.
COUA_API coua_status coua_remove_u64(coua_filter *filter, uint64_t key, bool *removed);

// coua_remove() for a key that was hashed before.
COUA_API coua_status coua_remove_hash(coua_filter *filter, uint64_t hash, bool *removed);

// Counts the copies of a key.
COUA_API coua_status coua_count(const coua_filter *filter, const void *key, size_t length, uint64_t *copies);

// coua_count() for an integer: the key of its eight bytes, little endian.
COUA_API coua_status coua_count_u64(const coua_filter *filter, uint64_t key, uint64_t *copies);

// coua_count() for a key that was hashed before.
COUA_API coua_status coua_count_hash(const coua_filter *filter, uint64_t hash, uint64_t *copies);

// coua_insert() for many keys. inserted gets 1 for each, or COUA_REFUSED; it may be NULL. COUA_FULL if any was refused:
// the others are inserted.
COUA_API coua_status coua_insert_batch(coua_filter *filter, const coua_keys *keys, uint8_t *inserted);

// coua_insert_unique() for many keys. is_new gets 1 for each that was absent, 0 for one that was there, or
// COUA_REFUSED; it may be NULL. COUA_FULL if any was refused: the others are inserted.
COUA_API coua_status coua_insert_unique_batch(coua_filter *filter, const coua_keys *keys, uint8_t *is_new);

// coua_contains() for many keys. found gets 1 for each that is there, and 0 for the others.
COUA_API coua_status coua_contains_batch(const coua_filter *filter, const coua_keys *keys, uint8_t *found);

// coua_remove() for many keys. removed gets 1 for each of which a copy was removed, and 0 for the others; it may be
// NULL.
COUA_API coua_status coua_remove_batch(coua_filter *filter, const coua_keys *keys, uint8_t *removed);

// coua_count() for many keys.
COUA_API coua_status coua_count_batch(const coua_filter *filter, const coua_keys *keys, uint64_t *copies);

// Tells a filter with COUA_CLOCK_GIVEN what time it is, in milliseconds. What its window has left is forgotten. An
// earlier time than the last one changes nothing: after one in the far future all keys count as inserted then.
COUA_API coua_status coua_window_advance(coua_filter *filter, uint64_t time);

// coua_insert_unique_batch() for a filter with COUA_CLOCK_GIVEN and keys with times of their own: one for each key, in
// milliseconds, in any order.
COUA_API
coua_status coua_window_insert_unique_batch(coua_filter *filter,
                                            const coua_keys *keys,
                                            const uint64_t *times,
                                            uint8_t *is_new);

// Keys in the filter, every copy counted.
COUA_API coua_status coua_len(const coua_filter *filter, uint64_t *items);

// Keys that its memory is planned for.
COUA_API coua_status coua_capacity(const coua_filter *filter, uint64_t *items);

// Bytes of its memory.
COUA_API coua_status coua_memory(const coua_filter *filter, uint64_t *bytes);

// Its false-positive rate now.
COUA_API coua_status coua_rate(const coua_filter *filter, double *rate);

// Describes the filter: a JSON object with the fields of `coua info --json`. key_options stands in it if the program
// made the keys of its file: their "normalize" (ignore-case, trim, url) is not done by this library, so give keys that
// were made likewise. text gets it with a zero at its end, if it
// is shorter than capacity; length gets its length without the zero. COUA_TOO_SMALL if it is not: with NULL and 0 this
// asks for the length.
COUA_API coua_status coua_describe(const coua_filter *filter, char *text, size_t capacity, size_t *length);

// Writes the filter to a file, which it replaces in one step: a filter, or an empty or missing file. Every coua reads it.
// COUA_BUSY while the file is written by another process or handle.
COUA_API
coua_status coua_save(const coua_filter *filter,
                      const char *path);

// Reads the filter in a file into memory, written by any program or package. key: the 16 bytes of its secret key, or NULL. What is
// changed later does not change the file; coua_store_open() works on the file itself. Bytes after the last commit, which
// an interrupted write leaves, do not count; `coua verify` reports them.
COUA_API
coua_status coua_load(const char *path,
                      const uint8_t *key,
                      coua_filter **created);

// Writes what coua_save() would into a buffer, if it is no longer than capacity; length gets its length.
// COUA_TOO_SMALL if it is longer: with NULL and 0 this asks for the length. Of a Bloom filter these are its bits,
// as in a Parquet file.
COUA_API coua_status coua_to_bytes(const coua_filter *filter, void *bytes, size_t capacity, size_t *length);

// Reads the bytes of coua_to_bytes(), or of a file. key as in coua_load().
COUA_API coua_status coua_from_bytes(const void *bytes, size_t length, const uint8_t *key, coua_filter **created);

// Opens the filter in a file, or makes a new one there as the options say; a filter that is there must agree with them
// (COUA_MISMATCH). The file is mapped, and is as it was at the last commit, whatever happens. One process writes at a
// time: another one waits, or gets COUA_BUSY if wait is 0. This process does not wait for itself: a file of which it has
// another handle is COUA_BUSY. Bytes after the last commit are cut off.
COUA_API
coua_status coua_store_open(const char *path,
                            const coua_options *options,
                            int32_t wait,
                            coua_filter **created);

// Opens the last commit of the filter in a file, to be asked. It does not wait for a writer. key as in coua_load(). A large file is
// mapped: while it is open it may be replaced, but not truncated in place, which would end the process by SIGBUS.
COUA_API
coua_status coua_store_read(const char *path,
                            const uint8_t *key,
                            coua_filter **created);

// Makes all changes so far durable. If that fails, they are kept, and the next commit tries again.
COUA_API coua_status coua_store_commit(coua_filter *filter);

// Commits, and closes the file. If the commit fails, the file stays open, and can be committed or closed again. What is
// left of the handle is for coua_free().
COUA_API coua_status coua_store_close(coua_filter *filter);

// Makes a filter in memory that many threads use at the same time: it is split into parts with a lock each. The calls
// are those of other filters; coua_compact() and merging into it are not possible.
COUA_API coua_status coua_shared_create(const coua_options *options, coua_filter **created);

// Makes such a filter with the keys of another one, such as one that was loaded.
COUA_API coua_status coua_shared_from(const coua_filter *filter, coua_filter **created);

// Makes a blocked Bloom filter, that of Parquet files, with the capacity and rate of the options: for sets that only
// grow. It takes coua_insert_unique(), coua_contains(), their batches, coua_clear(), coua_merge() and coua_to_bytes().
COUA_API coua_status coua_bloom_create(const coua_options *options, coua_filter **created);

// Reads the bits of a blocked Bloom filter, from coua_to_bytes() or from a Parquet file. Of the options only the seed
// or key counts; the keys of Parquet files have other hashes.
COUA_API
coua_status coua_bloom_from_bytes(const void *bytes,
                                  size_t length,
                                  const coua_options *options,
                                  coua_filter **created);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* COUA_H */

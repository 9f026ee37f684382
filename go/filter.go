package coua

import (
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"time"
	"unsafe"
)

// An operation on keys.
type verb int32

const (
	verbInsert verb = iota
	verbInsertUnique
	verbContains
	verbRemove
	verbCount
)

func (f *Filter) one(v verb, key []byte) (uint64, error) {
	e, err := f.use()
	if err != nil {
		return 0, err
	}
	value, err := e.bytes(v, key)
	runtime.KeepAlive(f)
	return value, err
}

func (f *Filter) text(v verb, key string) (uint64, error) {
	return f.one(v, unsafe.Slice(unsafe.StringData(key), len(key)))
}

func (f *Filter) integer(v verb, key uint64) (uint64, error) {
	e, err := f.use()
	if err != nil {
		return 0, err
	}
	value, err := e.integer(v, key)
	runtime.KeepAlive(f)
	return value, err
}

// Insert adds a copy of the key. Count counts the copies, and Remove removes one.
//
// In a filter with a [Rate], use Insert for keys that will be removed. (InsertUnique stores nothing for a key that it
// mistakes for another one; removing either then makes both absent.)
func (f *Filter) Insert(key []byte) error {
	_, err := f.one(verbInsert, key)
	return err
}

// InsertString is Insert for a string.
func (f *Filter) InsertString(key string) error {
	_, err := f.text(verbInsert, key)
	return err
}

// InsertUint64 is Insert for an integer: the key of its eight bytes, little endian.
func (f *Filter) InsertUint64(key uint64) error {
	_, err := f.integer(verbInsert, key)
	return err
}

// InsertUnique adds the key if it is absent, and returns whether it was: a set. If goroutines insert the same key,
// exactly one gets true. For keys that will be removed from a filter with a [Rate], use Insert.
func (f *Filter) InsertUnique(key []byte) (isNew bool, err error) {
	value, err := f.one(verbInsertUnique, key)
	return value != 0, err
}

// InsertUniqueString is InsertUnique for a string.
func (f *Filter) InsertUniqueString(key string) (isNew bool, err error) {
	value, err := f.text(verbInsertUnique, key)
	return value != 0, err
}

// InsertUniqueUint64 is InsertUnique for an integer.
func (f *Filter) InsertUniqueUint64(key uint64) (isNew bool, err error) {
	value, err := f.integer(verbInsertUnique, key)
	return value != 0, err
}

// Contains returns whether a key is present. For an absent key it returns true with the probability of the rate.
func (f *Filter) Contains(key []byte) (bool, error) {
	value, err := f.one(verbContains, key)
	return value != 0, err
}

// ContainsString is Contains for a string.
func (f *Filter) ContainsString(key string) (bool, error) {
	value, err := f.text(verbContains, key)
	return value != 0, err
}

// ContainsUint64 is Contains for an integer.
func (f *Filter) ContainsUint64(key uint64) (bool, error) {
	value, err := f.integer(verbContains, key)
	return value != 0, err
}

// Remove removes one copy of the key, and returns whether there was one. Remove only what was inserted, and in a filter
// with a [Rate] only what Insert inserted: another key may look like an inserted one, which is then removed.
func (f *Filter) Remove(key []byte) (removed bool, err error) {
	value, err := f.one(verbRemove, key)
	return value != 0, err
}

// RemoveString is Remove for a string.
func (f *Filter) RemoveString(key string) (removed bool, err error) {
	value, err := f.text(verbRemove, key)
	return value != 0, err
}

// RemoveUint64 is Remove for an integer.
func (f *Filter) RemoveUint64(key uint64) (removed bool, err error) {
	value, err := f.integer(verbRemove, key)
	return value != 0, err
}

// Count counts the copies of the key.
func (f *Filter) Count(key []byte) (copies uint64, err error) { return f.one(verbCount, key) }

// CountString is Count for a string.
func (f *Filter) CountString(key string) (copies uint64, err error) { return f.text(verbCount, key) }

// CountUint64 is Count for an integer.
func (f *Filter) CountUint64(key uint64) (copies uint64, err error) { return f.integer(verbCount, key) }

// Advance sets the time of a filter with a GivenWindow, from 1970 on. Time never goes back, so after a time in the far
// future all later keys count as inserted then.
func (f *Filter) Advance(now time.Time) error {
	if now.UnixMilli() < 0 {
		return &Error{Message: fmt.Sprintf("the time is %v; expected 1970 or later", now), kind: ErrInvalid}
	}
	return f.call(func(e *engine) error { return e.advance(uint64(now.UnixMilli())) })
}

// Clear removes all keys.
func (f *Filter) Clear() error { return f.call((*engine).clear) }

// Compact frees memory after many keys were removed.
func (f *Filter) Compact() error { return f.call((*engine).compact) }

// Merge adds every copy of every key of another filter.
func (f *Filter) Merge(other *Filter) error { return f.merge(other, false) }

// MergeUnique adds the keys of another filter that are absent in f: the union of sets.
func (f *Filter) MergeUnique(other *Filter) error { return f.merge(other, true) }

func (f *Filter) merge(other *Filter, isUnique bool) error {
	return other.call(func(from *engine) error {
		return f.call(func(e *engine) error { return e.merge(from, isUnique) })
	})
}

// Clone copies the filter in memory.
func (f *Filter) Clone() (*Filter, error) {
	e, err := f.use()
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(f)
	return made(e.clone())
}

// call makes a call on the whole filter.
func (f *Filter) call(work func(*engine) error) error {
	e, err := f.use()
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(f)
	return work(e)
}

// A number that describes a filter, by the calls of coua.h.
type measure int32

const (
	measureLen measure = iota
	measureCapacity
	measureMemory
	measureRate
)

func (f *Filter) measured(m measure) (value uint64, err error) {
	err = f.call(func(e *engine) error {
		value, err = e.measure(m)
		return err
	})
	return value, err
}

// Len is the number of keys, counting every copy.
func (f *Filter) Len() (uint64, error) { return f.measured(measureLen) }

// Cap is the number of keys that its memory is planned for.
func (f *Filter) Cap() (uint64, error) { return f.measured(measureCapacity) }

// Memory is the size of the filter in bytes.
func (f *Filter) Memory() (uint64, error) { return f.measured(measureMemory) }

// Rate is the rate of wrong answers now.
func (f *Filter) Rate() (float64, error) {
	bits, err := f.measured(measureRate)
	return fromBits(bits), err
}

// String says what the filter is, in a line.
func (f *Filter) String() string {
	keys, err := f.Len()
	if err != nil {
		return "coua.Filter{" + strings.TrimPrefix(err.Error(), "coua: ") + "}"
	}
	bytes, _ := f.Memory()
	return fmt.Sprintf("coua.Filter{Len: %d, Memory: %d}", keys, bytes)
}

// LogValue is what log/slog writes: String, and not the bytes of the filter.
func (f *Filter) LogValue() slog.Value { return slog.StringValue(f.String()) }

// Describe returns a JSON object with the fields of `coua info --json`.
func (f *Filter) Describe() (text string, err error) {
	err = f.call(func(e *engine) error {
		text, err = e.describe()
		return err
	})
	return text, err
}

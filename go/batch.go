package coua

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"
)

// Keys of a batch: Bytes, Strings, Integers or Hashes.
type Keys interface {
	Len() int
	// pack describes the keys from a place on for one call, and returns their number.
	pack(from int, into *packed) int
}

type (
	// Bytes are keys of any bytes.
	Bytes [][]byte
	// Strings are keys of the bytes of strings.
	Strings []string
	// Integers are keys of eight bytes each, little endian.
	Integers []uint64
	// Hashes are the hashes of keys.
	Hashes []uint64
)

// Numbers of coua.h.
const (
	formOffsets64 = 2
	formIntegers  = 3
	formHashes    = 4
)

const (
	// The most keys of one call.
	chunkKeys = 1 << 14
	// The most bytes of keys of one call, unless one key is longer.
	chunkBytes = 1 << 20
)

// packed keys are in one piece of memory, without pointers.
type packed struct {
	form     uint32
	bytes    []byte
	offsets  []int64
	integers []uint64
	// Space for unwanted answers.
	answers []bool
}

var spaces = sync.Pool{New: func() any { return new(packed) }}

func (k Bytes) Len() int    { return len(k) }
func (k Strings) Len() int  { return len(k) }
func (k Integers) Len() int { return len(k) }
func (k Hashes) Len() int   { return len(k) }

func (k Bytes) pack(from int, into *packed) int   { return packBytes(k[from:], into) }
func (k Strings) pack(from int, into *packed) int { return packBytes(k[from:], into) }

func (k Integers) pack(from int, into *packed) int {
	into.form, into.integers = formIntegers, k[from:min(len(k), from+chunkKeys)]
	return len(into.integers)
}

func (k Hashes) pack(from int, into *packed) int {
	into.form, into.integers = formHashes, k[from:min(len(k), from+chunkKeys)]
	return len(into.integers)
}

func packBytes[K ~string | ~[]byte](keys []K, into *packed) int {
	into.form = formOffsets64
	keys = keys[:min(len(keys), chunkKeys)]
	bytes, offsets := into.bytes[:0], sized(into.offsets, chunkKeys+1)
	for i, key := range keys {
		if len(bytes) >= chunkBytes {
			keys = keys[:i]
			break
		}
		offsets[i] = int64(len(bytes))
		bytes = append(bytes, key...)
	}
	offsets[len(keys)] = int64(len(bytes))
	into.bytes, into.offsets = bytes, offsets
	return len(keys)
}

// batch processes the keys. answers has a byte for each, or is nil; or copies has a number.
func (f *Filter) batch(v verb, keys Keys, answers []bool, copies []uint64) error {
	e, err := f.use()
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(f)
	space := spaces.Get().(*packed)
	defer spaces.Put(space)
	for from := 0; from < keys.Len(); {
		count := keys.pack(from, space)
		to := from + count
		if v == verbCount {
			err = e.batchCount(space, copies[from:to])
		} else {
			space.answers = sized(space.answers, chunkKeys)
			chunk := space.answers
			if answers != nil {
				chunk = answers[from:to]
			}
			bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(chunk))), count)
			if err = e.batch(v, space, bytes); errors.Is(err, ErrFull) {
				err = refused(bytes, from, keys.Len(), err)
				clear(answers[min(to, len(answers)):])
			}
		}
		if err != nil {
			return err
		}
		from = to
	}
	space.integers = nil // they are the caller's
	return nil
}

// refused returns the error with the keys that were not inserted: those of this chunk whose byte is 2 in C, which
// becomes false, and all later ones.
func refused(chunk []byte, from, all int, cause error) error {
	e := &FullError{cause: cause}
	for i, answer := range chunk {
		if answer == 2 {
			chunk[i] = 0
			e.Refused = append(e.Refused, from+i)
		}
	}
	for i := from + len(chunk); i < all; i++ {
		e.Refused = append(e.Refused, i)
	}
	return e
}

func (f *Filter) answers(v verb, keys Keys, into []bool) ([]bool, error) {
	into = sized(into, keys.Len())
	return into, f.batch(v, keys, into, nil)
}

// sized returns a slice of this length, which is into if that is large enough.
func sized[T any](into []T, length int) []T {
	if cap(into) < length {
		return make([]T, length)
	}
	return into[:length]
}

// InsertMany is Insert for many keys. If keys are refused, the error is a FullError with their places.
func (f *Filter) InsertMany(keys Keys) error {
	return f.batch(verbInsert, keys, nil, nil)
}

// InsertUniqueMany is InsertUnique for many keys: true for each new key. It stores the answers in isNew if that is
// large enough; isNew may be nil. If keys are refused, the error is a FullError with their places.
func (f *Filter) InsertUniqueMany(keys Keys, isNew []bool) ([]bool, error) {
	return f.answers(verbInsertUnique, keys, isNew)
}

// ContainsMany is Contains for many keys. It stores the answers in found if that is large enough; found may be nil.
func (f *Filter) ContainsMany(keys Keys, found []bool) ([]bool, error) {
	return f.answers(verbContains, keys, found)
}

// RemoveMany is Remove for many keys. It stores the answers in removed if that is large enough; removed may be nil.
func (f *Filter) RemoveMany(keys Keys, removed []bool) ([]bool, error) {
	return f.answers(verbRemove, keys, removed)
}

// CountMany is Count for many keys. It stores the answers in copies if that is large enough; copies may be nil.
func (f *Filter) CountMany(keys Keys, copies []uint64) ([]uint64, error) {
	copies = sized(copies, keys.Len())
	return copies, f.batch(verbCount, keys, nil, copies)
}

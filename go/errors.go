package coua

import (
	"errors"
	"fmt"
	"strings"
)

// Kinds of an Error, for errors.Is.
var (
	ErrInvalid     = errors.New("coua: invalid argument")
	ErrFull        = errors.New("coua: filter is full")
	ErrOutOfMemory = errors.New("coua: out of memory")
	ErrNotAFilter  = errors.New("coua: not a complete filter, or its key is missing or wrong")
	ErrMismatch    = errors.New("coua: the filters differ")
	ErrIO          = errors.New("coua: system error")
	ErrBusy        = errors.New("coua: the file is being written")
	ErrUnsupported = errors.New("coua: not supported by this kind of filter")
	ErrPoisoned    = errors.New("coua: the filter is unusable")
	ErrClosed      = errors.New("coua: the filter is closed")
)

// The kinds by the number of the status in coua.h.
var kinds = [...]error{
	1: ErrInvalid, 2: ErrFull, 3: ErrOutOfMemory, 4: ErrNotAFilter, 5: ErrMismatch, 6: ErrIO, 7: ErrBusy,
	8: ErrUnsupported, 10: ErrPoisoned, 11: ErrPoisoned,
}

// Replaces the names of coua.h in messages by those of this package.
var inGo = strings.NewReplacer(
	"window_length, window_generations and window_by need a window_clock, such as COUA_CLOCK_ARRIVAL",
	"Generations and LastSeen need a Window, GivenWindow or WindowItems",
	"coua_store_open()", "Open", "coua_store_read()", "Load", "coua_to_bytes()", "MarshalBinary",
	"coua_from_bytes()", "FromBytes", "coua_insert_unique_batch()", "InsertUniqueMany",
	"coua_insert_unique()", "InsertUnique", "coua_merge()", "Merge", "COUA_CLOCK_GIVEN", "GivenWindow",
	"max_items", "MaxItems", "hash_bits", "HashBits",
)

// An Error says what was found, what was expected, and what to do.
type Error struct {
	Message string
	kind    error
	cause   error
}

func (e *Error) Error() string { return "coua: " + e.Message }

// Unwrap returns one of the errors of this package, and the system's error if there is one, for errors.Is.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.kind}
	}
	return []error{e.kind, e.cause}
}

// A FullError lists the refused keys of a batch. It is an ErrFull.
type FullError struct {
	// Refused has the places of the keys that were not inserted. All others were inserted.
	Refused []int
	cause   error
}

func (e *FullError) Error() string {
	return fmt.Sprintf("%v (%d keys of the batch were refused)", e.cause, len(e.Refused))
}

// Unwrap returns the error without the keys.
func (e *FullError) Unwrap() error { return e.cause }

func failed(status int32, message string) error {
	if status == 0 {
		return nil
	}
	kind := ErrInvalid
	if int(status) < len(kinds) && kinds[status] != nil {
		kind = kinds[status]
	}
	return &Error{Message: inGo.Replace(message), kind: kind}
}

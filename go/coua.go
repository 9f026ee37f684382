// Package coua has filters that answer "have I seen this before?" for billions of keys in a few bytes each, and can take
// an answer back. No key is ever lost: if a key was inserted and not removed, it is found.
//
//	seen, err := coua.New() // grows
//	isNew, err := seen.Insert([]byte("kestrel"))
//	found, err := seen.Contains([]byte("kestrel"))
//
// A filter that was made with [Capacity] and [Rate] takes just the memory that these need. Batches, such as
// [Filter.InsertMany], are several times faster than single calls.
//
// All calls but Close may be made by many goroutines at the same time. A filter, an option or a reader that is nil is an
// error of the program, and panics. The same key has the same hash, and the same
// filter the same bytes, as in Rust, C, Python and the program coua: each reads what another one wrote.
//
// The package brings the library as WebAssembly, and needs no C compiler. With the build tag libcoua it is linked with
// the C library instead, which is several times faster and also opens filters in files; pkg-config must find it.
package coua

import (
	"runtime"
	"sync/atomic"
	"time"
)

// A Filter is a set of keys, or a multiset. New, Load, Open and UnmarshalBinary make one.
type Filter struct {
	engine  atomic.Pointer[engine]
	cleanup runtime.Cleanup
}

// New makes a filter in memory. Without options it grows, and stores 64 bits of every key's hash: among a billion keys,
// 0.03 wrong answers are expected.
func New(options ...Option) (*Filter, error) {
	return made(newEngine(configured(options)))
}

func made(e *engine, err error) (*Filter, error) {
	if err != nil {
		return nil, err
	}
	f := new(Filter)
	f.replace(e)
	return f, nil
}

// replace takes another engine, and frees it when f is forgotten.
func (f *Filter) replace(e *engine) {
	if f.engine.Swap(e) != nil {
		f.cleanup.Stop()
	}
	f.cleanup = runtime.AddCleanup(f, (*engine).free, e)
}

// use returns the engine, for calls after which f must be kept alive.
func (f *Filter) use() (*engine, error) {
	if e := f.engine.Load(); e != nil {
		return e, nil
	}
	return nil, ErrClosed
}

// Close frees the memory, after it has committed what Open opened. If that fails, the filter stays open, and can be
// committed or closed again. No other call may be at work; later ones return ErrClosed. A filter that is forgotten is
// freed without Close, and without a commit.
func (f *Filter) Close() error {
	e := f.engine.Load()
	if e == nil {
		return ErrClosed
	}
	if err := e.close(); err != nil {
		return err
	}
	f.engine.Store(nil)
	f.cleanup.Stop()
	e.free()
	return nil
}

// An Option says how a filter is to be.
type Option func(*config)

type config struct {
	capacity, maxItems, seed, windowLength                   uint64
	rate                                                     float64
	clock, generations, windowBy, hashBits, layout, whenFull uint32
	key                                                      []byte
	kind                                                     kind
}

type kind int

const (
	kindCuckoo kind = iota
	kindShared
	kindBloom
)

// Numbers of coua.h.
const (
	clockArrival = 1 + iota
	clockGiven
	clockCount
)

const (
	refuse = 1 + iota
	exceed
)

func configured(options []Option) *config {
	c := new(config)
	for _, option := range options {
		option(c)
	}
	return c
}

// Capacity is the number of keys to make room for at once.
func Capacity(keys uint64) Option { return func(c *config) { c.capacity = keys } }

// Rate is the highest rate of wrong answers, such as 0.001, with as many keys as MaxItems, or Capacity, says. Without
// MaxItems the size is fixed, and a key more is refused: ErrFull.
func Rate(rate float64) Option { return func(c *config) { c.rate = rate } }

// MaxItems is the number of keys up to which the rate holds, and a filter grows.
func MaxItems(keys uint64) Option { return func(c *config) { c.maxItems = keys } }

// HashBits is the number of bits of every key's hash to store, instead of a rate.
func HashBits(bits uint32) Option { return func(c *config) { c.hashBits = bits } }

// Overlapping lets the buckets overlap: smaller, slower.
func Overlapping() Option { return func(c *config) { c.layout = 1 } }

// Refuse never grows: a key without room is ErrFull.
func Refuse() Option { return func(c *config) { c.whenFull = refuse } }

// Exceed grows beyond MaxItems too, where the rate rises.
func Exceed() Option { return func(c *config) { c.whenFull = exceed } }

// Seed is the seed of the hash.
func Seed(seed uint64) Option { return func(c *config) { c.seed = seed } }

// Key is a secret key instead of a seed, where keys may be chosen to collide.
func Key(key [16]byte) Option { return func(c *config) { c.key = key[:] } }

// Window makes a filter that forgets what is older than length, by the system's clock. Lengths count in whole
// milliseconds: Window(7) is none, for it means 7 nanoseconds; write 7*time.Second.
func Window(length time.Duration) Option {
	return func(c *config) { c.clock, c.windowLength = clockArrival, uint64(max(length, 0).Milliseconds()) }
}

// GivenWindow makes one that goes by the times that Advance tells, in whole milliseconds.
func GivenWindow(length time.Duration) Option {
	return func(c *config) { c.clock, c.windowLength = clockGiven, uint64(max(length, 0).Milliseconds()) }
}

// WindowItems makes a filter that forgets all but about the last keys.
func WindowItems(keys uint64) Option {
	return func(c *config) { c.clock, c.windowLength = clockCount, keys }
}

// Generations is the number of parts of a window, of which the oldest is forgotten at once; 8.
func Generations(parts uint32) Option { return func(c *config) { c.generations = parts } }

// LastSeen counts a key's age in a window from when Insert saw it last: a repeat prolongs its life.
func LastSeen() Option { return func(c *config) { c.windowBy = 1 } }

// Shared makes a filter whose parts have a lock each, for goroutines that change it side by side.
func Shared() Option { return func(c *config) { c.kind = kindShared } }

// Bloom makes a blocked Bloom filter of a Capacity and a Rate, for sets that only grow.
func Bloom() Option { return func(c *config) { c.kind = kindBloom } }

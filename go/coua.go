// Package coua has filters that answer "have I seen this before?" for billions of keys in a few bytes each, and support
// removal. A key that was inserted and not removed is always found (with a rate: if Insert inserted all removed keys).
//
//	seen, err := coua.New() // grows
//	isNew, err := seen.InsertUniqueString("kestrel") // a set
//	found, err := seen.ContainsString("kestrel")
//
// A filter with a [Capacity] and a [Rate] has a fixed size. Batches, such as [Filter.InsertUniqueMany], are several
// times faster than single calls.
//
// [Filter.Insert] adds a copy of a key; [Filter.InsertUnique] adds a key if it is absent. To remove keys from a filter
// with a rate, fill it with Insert.
//
// All methods except Close are safe for concurrent use. A nil filter, option or reader panics. Keys have the same
// hashes, and filters the same bytes, as in Rust, C, Python and the program coua: each reads the files of the others.
//
// The package contains the library as WebAssembly, and needs no C compiler. With the build tag libcoua it links the C
// library instead, which is several times faster and also opens filters in files; pkg-config must find it.
package coua

import (
	"runtime"
	"sync/atomic"
	"time"
)

// A Filter is a set or multiset of keys. New, Load, Open and UnmarshalBinary create one.
type Filter struct {
	engine   atomic.Pointer[engine]
	cleanup  runtime.Cleanup
	isClosed atomic.Bool
}

// New creates a filter in memory. Without options it grows, and stores 64 bits of every key's hash: among a billion
// keys, 0.03 wrong answers are expected.
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

// replace sets another engine, which is freed when f is garbage-collected.
func (f *Filter) replace(e *engine) {
	if f.engine.Swap(e) != nil {
		f.cleanup.Stop()
	}
	f.isClosed.Store(false)
	f.cleanup = runtime.AddCleanup(f, (*engine).free, e)
}

// use returns the engine, for calls after which f must be kept alive.
func (f *Filter) use() (*engine, error) {
	if e := f.engine.Load(); e != nil {
		return e, nil
	}
	if f.isClosed.Load() {
		return nil, ErrClosed
	}
	return nil, &Error{Message: "the filter was not created; use New, Load, Open or UnmarshalBinary", kind: ErrInvalid}
}

// Close commits a filter that Open opened, and frees the memory. If the commit fails, the filter stays open, and can be
// committed, closed or abandoned. No other call may run at the same time; later ones return ErrClosed. A filter that is
// garbage-collected without Close is freed without a commit.
//
// A deferred Close commits after an error, too: to give up the changes, call Abandon first.
func (f *Filter) Close() error { return f.end((*engine).close) }

// Abandon frees the memory. The file of a filter that Open opened stays as it was at the last commit. No other call may
// run at the same time; later ones return ErrClosed.
func (f *Filter) Abandon() error { return f.end(func(*engine) error { return nil }) }

func (f *Filter) end(finish func(*engine) error) error {
	e, err := f.use()
	if err != nil {
		return err
	}
	if err := finish(e); err != nil {
		return err
	}
	f.isClosed.Store(true)
	f.engine.Store(nil)
	f.cleanup.Stop()
	e.free()
	return nil
}

// An Option sets a parameter of a filter.
type Option func(*config)

type config struct {
	capacity, maxItems, seed, windowLength           uint64
	rate                                             float64
	clock, generations, windowBy, hashBits, whenFull uint32
	key                                              []byte
	isShared                                         bool
}

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

// Rate is the highest rate of wrong answers, such as 0.001, with MaxItems keys, or Capacity keys if MaxItems is not
// set. Without MaxItems the size is fixed, and further keys are refused with ErrFull.
func Rate(rate float64) Option { return func(c *config) { c.rate = rate } }

// MaxItems is the number of keys up to which the rate holds and the filter grows.
func MaxItems(keys uint64) Option { return func(c *config) { c.maxItems = keys } }

// HashBits is the number of bits of every key's hash to store, instead of a rate.
func HashBits(bits uint32) Option { return func(c *config) { c.hashBits = bits } }

// Refuse prevents growth: a key without room is refused with ErrFull.
func Refuse() Option { return func(c *config) { c.whenFull = refuse } }

// Exceed allows growth beyond MaxItems, where the rate rises.
func Exceed() Option { return func(c *config) { c.whenFull = exceed } }

// Seed is the seed of the hash.
func Seed(seed uint64) Option { return func(c *config) { c.seed = seed } }

// Key is a secret key instead of a seed, if an attacker may choose keys that collide.
func Key(key [16]byte) Option { return func(c *config) { c.key = key[:] } }

// Window makes a filter that forgets keys older than length, by the system's clock. Lengths are in whole milliseconds,
// so Window(7), which means 7 nanoseconds, is an error; write 7*time.Second.
func Window(length time.Duration) Option {
	return func(c *config) { c.clock, c.windowLength = clockArrival, uint64(max(length, 0).Milliseconds()) }
}

// GivenWindow makes a filter with a window that uses the times given to Advance, in whole milliseconds.
func GivenWindow(length time.Duration) Option {
	return func(c *config) { c.clock, c.windowLength = clockGiven, uint64(max(length, 0).Milliseconds()) }
}

// WindowItems makes a filter that forgets all but about the last keys.
func WindowItems(keys uint64) Option {
	return func(c *config) { c.clock, c.windowLength = clockCount, keys }
}

// Generations is the number of parts of a window, of which the oldest is forgotten as a whole. The default is 8.
func Generations(parts uint32) Option { return func(c *config) { c.generations = parts } }

// LastSeen counts a key's age in a window from when InsertUnique last saw it: a repeat extends its time.
func LastSeen() Option { return func(c *config) { c.windowBy = 1 } }

// Shared makes a filter whose parts have a lock each, for goroutines that change it concurrently.
func Shared() Option { return func(c *config) { c.isShared = true } }

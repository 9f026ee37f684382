package coua

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must returns a value, and fails the test if there was an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func is(t testing.TB, err, expected error) {
	t.Helper()
	if !errors.Is(err, expected) {
		t.Fatalf("found %v, expected %v", err, expected)
	}
}

func equal[T comparable](t testing.TB, found, expected T) {
	t.Helper()
	if found != expected {
		t.Fatalf("found %v, expected %v", found, expected)
	}
}

func created(t testing.TB, options ...Option) *Filter {
	t.Helper()
	f, err := New(options...)
	ok(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// Kinds of filters that can do everything.
var all = map[string][]Option{
	"cuckoo": nil,
	"shared": {Shared()},
	"secret": {Key([16]byte{1, 2, 3})},
	"rate":   {Capacity(200_000), Rate(1e-6), Seed(7)},
}

func onAll(t *testing.T, test func(*testing.T, *Filter)) {
	for name, options := range all {
		t.Run(name, func(t *testing.T) { test(t, created(t, options...)) })
	}
}

func TestSingleCalls(t *testing.T) {
	onAll(t, func(t *testing.T, f *Filter) {
		keys := [][]byte{[]byte("kestrel"), nil, {0}, []byte("a\x00b"), bytes.Repeat([]byte("long"), 1000)}
		for _, key := range keys {
			equal(t, must(f.Contains(key)), false)
			equal(t, must(f.InsertUnique(key)), true)
			equal(t, must(f.InsertUnique(key)), false)
			equal(t, must(f.Contains(key)), true)
		}
		equal(t, must(f.Len()), uint64(len(keys)))
		equal(t, must(f.InsertUniqueString("kestrel")), false)
		equal(t, must(f.ContainsString("osprey")), false)
		ok(t, f.Insert([]byte("kestrel")))
		equal(t, must(f.Count([]byte("kestrel"))), 2)
		equal(t, must(f.RemoveString("kestrel")), true)
		equal(t, must(f.Remove([]byte("kestrel"))), true)
		equal(t, must(f.Remove([]byte("kestrel"))), false)
		equal(t, must(f.InsertUniqueUint64(7)), true)
		equal(t, must(f.ContainsUint64(7)), true)
		equal(t, must(f.Contains(binary.LittleEndian.AppendUint64(nil, 7))), true)
		ok(t, f.InsertUint64(7))
		equal(t, must(f.CountUint64(7)), 2)
		equal(t, must(f.RemoveUint64(7)), true)
		equal(t, must(f.RemoveUint64(7)), true)
		ok(t, f.InsertString("osprey"))
		ok(t, f.InsertString("osprey"))
		equal(t, must(f.CountString("osprey")), 2)
		ok(t, f.Clear())
		equal(t, must(f.Len()), 0)
	})
}

const many = 100_000

// Keys of every form: texts, the empty one among them, and the same as bytes; and integers.
func forms() (Strings, Bytes, Integers) {
	texts, bytes, integers := make(Strings, many), make(Bytes, many), make(Integers, many)
	for i := range texts {
		if i > 0 {
			texts[i] = fmt.Sprint("key ", i)
		}
		bytes[i], integers[i] = []byte(texts[i]), uint64(i)*0x9e37_79b9_7f4a_7c15
	}
	return texts, bytes, integers
}

func trues(mask []bool) (sum int) {
	for _, yes := range mask {
		if yes {
			sum++
		}
	}
	return sum
}

func TestBatches(t *testing.T) {
	texts, bytes, integers := forms()
	onAll(t, func(t *testing.T, f *Filter) {
		mask := make([]bool, many)
		for _, keys := range []Keys{texts, bytes, integers, Hashes(integers)} {
			inserted := must(f.InsertUniqueMany(keys, mask))
			if wrong := many - trues(inserted); wrong > 5 { // at a rate, a key may be taken for another one
				t.Fatalf("%d keys were not new", wrong)
			}
			equal(t, &inserted[0], &mask[0])
			equal(t, trues(must(f.InsertUniqueMany(keys, mask))), 0)
			equal(t, trues(must(f.ContainsMany(keys, nil))), many)
			ok(t, f.Clear())
			ok(t, f.InsertMany(keys))
			ok(t, f.InsertMany(keys))
			for _, copies := range must(f.CountMany(keys, nil)) {
				if copies < 2 {
					t.Fatal("a copy is lost")
				}
			}
			equal(t, must(f.Len()), 2*many)
			equal(t, trues(must(f.RemoveMany(keys, mask))), many)
			equal(t, trues(must(f.RemoveMany(keys, mask))), many)
			equal(t, must(f.Len()), 0)
			ok(t, compacted(f))
		}
		must(f.InsertUniqueMany(texts, nil))
		equal(t, trues(must(f.ContainsMany(bytes, nil))), many)
		equal(t, len(must(f.InsertUniqueMany(Strings{}, nil))), 0)
		equal(t, len(must(f.CountMany(Strings{}, nil))), 0)
	})
}

// compacted calls Compact for kinds that have it.
func compacted(f *Filter) error {
	if err := f.Compact(); !errors.Is(err, ErrUnsupported) {
		return err
	}
	return nil
}

func TestFull(t *testing.T) {
	f := created(t, Capacity(1000), Rate(0.001))
	keys := make(Integers, 40_000)
	for i := range keys {
		keys[i] = uint64(i)
	}
	isNew, err := f.InsertUniqueMany(keys, nil)
	is(t, err, ErrFull)
	var full *FullError
	equal(t, errors.As(err, &full), true)
	refused := make(map[int]bool)
	for _, place := range full.Refused {
		refused[place] = true
	}
	for i, yes := range isNew {
		if yes && refused[i] {
			t.Fatal("a key is new and refused")
		}
		if !refused[i] && !must(f.ContainsUint64(keys[i])) {
			t.Fatal("a key is lost")
		}
	}
	equal(t, trues(isNew), 1000)
	is(t, f.InsertMany(Integers{1 << 60, 1 << 61}), ErrFull)
	is(t, f.Insert([]byte("one more")), ErrFull)
	equal(t, must(f.Cap()), 1000)
	if rate := must(f.Rate()); rate <= 0 || rate > 0.001 {
		t.Fatalf("the rate is %v", rate)
	}
}

func TestWindows(t *testing.T) {
	f := created(t, GivenWindow(time.Minute), Generations(6))
	start := time.UnixMilli(1_800_000_000_000)
	ok(t, f.Advance(start))
	must(f.InsertUniqueString("old"))
	ok(t, f.Advance(start.Add(30*time.Second)))
	equal(t, must(f.ContainsString("old")), true)
	ok(t, f.Advance(start.Add(2*time.Minute)))
	equal(t, must(f.ContainsString("old")), false)
	for _, options := range [][]Option{{}, {LastSeen()}} {
		f := created(t, append(options, GivenWindow(time.Minute), Generations(6))...)
		ok(t, f.Advance(start))
		equal(t, must(f.InsertUniqueString("again")), true)
		ok(t, f.Advance(start.Add(50*time.Second)))
		equal(t, must(f.InsertUniqueString("again")), false)
		ok(t, f.Advance(start.Add(100*time.Second)))
		equal(t, must(f.ContainsString("again")), len(options) == 1)
	}
	last := created(t, WindowItems(1000))
	for i := range uint64(5000) {
		equal(t, must(last.InsertUniqueUint64(i)), true)
	}
	if length := must(last.Len()); length < 1000 || length > 1300 {
		t.Fatalf("a window of 1000 keys has %d", length)
	}
	is(t, last.Advance(start), ErrUnsupported)
	timed := created(t, Window(time.Hour))
	must(timed.InsertUniqueString("now"))
	equal(t, must(timed.ContainsString("now")), true)
	equal(t, strings.Contains(must(timed.Describe()), `"kind":"window"`), true)
}

func TestUnions(t *testing.T) {
	for _, options := range [][]Option{nil, {Key([16]byte{9})}} {
		one, two := created(t, options...), created(t, options...)
		must(one.InsertUniqueMany(Strings{"a", "b"}, nil))
		must(two.InsertUniqueMany(Strings{"b", "c"}, nil))
		copied := must(one.Clone())
		ok(t, one.MergeUnique(two))
		equal(t, must(one.Len()), 3)
		ok(t, copied.Merge(two))
		equal(t, must(copied.Len()), 4)
		equal(t, must(copied.Count([]byte("b"))), 2)
		is(t, one.MergeUnique(one), ErrInvalid)
	}
	is(t, created(t).MergeUnique(created(t, Seed(1))), ErrMismatch)
	shared := created(t, Shared())
	must(shared.InsertUniqueString("a"))
	equal(t, must(must(shared.Clone()).ContainsString("a")), true)
}

func TestBytesAndFiles(t *testing.T) {
	texts, _, _ := forms()
	key := [16]byte{5, 6, 7}
	for _, options := range [][]Option{nil, {Key(key)}, {Shared()}, {WindowItems(2 * many)}} {
		f := created(t, options...)
		must(f.InsertUniqueMany(texts, nil))
		data := must(f.MarshalBinary())
		copied := must(FromBytes(data, Key(key)))
		equal(t, trues(must(copied.ContainsMany(texts, nil))), many)
		equal(t, bytes.Equal(must(copied.MarshalBinary()), data), true)
		path := filepath.Join(t.TempDir(), "seen.coua")
		ok(t, f.Save(path))
		loaded := must(Load(path, Key(key)))
		equal(t, trues(must(loaded.ContainsMany(texts, nil))), many)
	}
	f := created(t)
	must(f.InsertUniqueMany(texts, nil))
	var stream bytes.Buffer
	written := must(f.WriteTo(&stream))
	equal(t, written, int64(stream.Len()))
	var read Filter
	equal(t, must(read.ReadFrom(&stream)), written)
	equal(t, must(read.Len()), many)
	ok(t, read.UnmarshalBinary(must(created(t).MarshalBinary())))
	equal(t, must(read.Len()), 0)
}

// The same keys give the same bytes with both engines, and on every machine.
func TestBytesAreAPromise(t *testing.T) {
	f := created(t, Capacity(100_000), Rate(0.001), Seed(42))
	keys := make(Integers, many)
	for i := range keys {
		keys[i] = uint64(i)
	}
	ok(t, f.InsertMany(keys))
	if bits := float64(must(f.Memory())*8) / many; bits > 14.5 {
		t.Fatalf("%.1f bits a key", bits)
	}
	const expected = "d051abcd6e61774a959c2735f5e6b5fbac02f5cff2f63b3061d55d63934e6ce7"
	equal(t, fmt.Sprintf("%x", sha256.Sum256(must(f.MarshalBinary()))), expected)
}

func TestErrors(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "missing.coua"))
	is(t, err, fs.ErrNotExist)
	is(t, err, ErrIO)
	equal(t, strings.Contains(err.Error(), "missing.coua"), true)
	is(t, created(t).Save(filepath.Join(t.TempDir(), "no", "folder.coua")), ErrIO)
	for _, options := range [][]Option{
		{Rate(2)}, {Rate(0.1)}, {Capacity(10), MaxItems(5)}, {HashBits(65)}, {Generations(3)}, {LastSeen()},
		{Seed(1), Key([16]byte{1})}, {Window(-time.Second)},
	} {
		_, err := New(options...)
		is(t, err, ErrInvalid)
	}
	err = created(t).Commit()
	is(t, err, ErrUnsupported)
	equal(t, strings.Contains(err.Error(), "Open creates one"), true)
	var zero Filter
	_, err = zero.InsertUniqueString("a")
	is(t, err, ErrInvalid)
	equal(t, err.Error(), "coua: the filter was not created; use New, Load, Open or UnmarshalBinary")
	f := created(t)
	ok(t, f.Close())
	is(t, f.Close(), ErrClosed)
	_, err = f.ContainsMany(Strings{"a"}, nil)
	is(t, err, ErrClosed)
	is(t, created(t).MergeUnique(f), ErrClosed)
	keyed := must(created(t, Key([16]byte{1})).MarshalBinary())
	_, err = FromBytes(keyed)
	is(t, err, ErrNotAFilter)
}

// Of keys that look alike InsertUnique stores one, so that removing one would remove all.
func TestRemovedKeysTakeNoOthersAlong(t *testing.T) {
	f := created(t, Capacity(200_000), Rate(0.001))
	keys := make(Integers, 150_000)
	for i := range keys {
		keys[i] = uint64(i)
	}
	ok(t, f.InsertMany(keys))
	equal(t, trues(must(f.RemoveMany(keys[:75_000], nil))), 75_000)
	equal(t, trues(must(f.ContainsMany(keys[75_000:], nil))), 75_000)
}

func TestMessagesNameTheOptionsOfThisPackage(t *testing.T) {
	for name, options := range map[string][]Option{
		"set MaxItems": {Rate(0.1)}, "Generations and LastSeen need a Window": {LastSeen()},
		"above the maximum of 5 items": {Capacity(10), MaxItems(5)},
	} {
		_, err := New(options...)
		if !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "_") {
			t.Errorf("%v; expected %q", err, name)
		}
	}
}

func TestJSON(t *testing.T) {
	type state struct {
		Name string
		Seen *Filter
	}
	f := created(t)
	ok(t, f.InsertString("kestrel"))
	data := must(json.Marshal(state{"a", f}))
	var read state
	ok(t, json.Unmarshal(data, &read))
	equal(t, must(read.Seen.ContainsString("kestrel")), true)
	equal(t, must(read.Seen.Len()), 1)
	is(t, json.Unmarshal([]byte(`{"Seen": {}}`), &read), ErrNotAFilter)
	is(t, json.Unmarshal([]byte(`{"Seen": "AAAA"}`), &read), ErrNotAFilter)
	equal(t, must(read.Seen.Len()), 1)
	ok(t, json.Unmarshal([]byte(`{"Seen": null}`), &read))
}

func TestPrinting(t *testing.T) {
	f := created(t, Capacity(1000), Rate(0.001))
	ok(t, f.InsertString("kestrel"))
	text := fmt.Sprintf("coua.Filter{Len: 1, Memory: %d}", must(f.Memory()))
	equal(t, fmt.Sprint(f), text)
	equal(t, fmt.Sprintf("%+v", f), text)
	equal(t, f.LogValue().String(), text)
	ok(t, f.Close())
	equal(t, fmt.Sprint(f), "coua.Filter{the filter is closed}")
	ok(t, f.UnmarshalBinary(must(created(t).MarshalBinary())))
	equal(t, must(f.Len()), 0)
}

func TestHostileBytes(t *testing.T) {
	f := created(t, Capacity(100), Rate(0.01))
	must(f.InsertUniqueMany(Strings{"a", "b"}, nil))
	data := must(f.MarshalBinary())
	var read Filter
	for i := 0; i < len(data); i += 1 + len(data)/100 {
		data[i] ^= 0x10
		is(t, read.UnmarshalBinary(data), ErrNotAFilter)
		data[i] ^= 0x10
		is(t, read.UnmarshalBinary(data[:i]), ErrNotAFilter)
	}
	ok(t, read.UnmarshalBinary(data))
}

func TestGoroutines(t *testing.T) {
	for _, options := range [][]Option{nil, {Shared()}} {
		f := created(t, options...)
		other := created(t)
		var firsts atomic.Int64
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				mask := []bool(nil)
				for i := range 20 {
					keys := make(Integers, 1000)
					for j := range keys {
						keys[j] = uint64(1000*i + j)
					}
					mask = must(f.InsertUniqueMany(keys, mask))
					firsts.Add(int64(trues(mask)))
					if must(f.InsertUniqueUint64(uint64(1<<40 + i))) {
						firsts.Add(1)
					}
					must(f.ContainsString("kestrel"))
					ok(t, other.MergeUnique(f))
				}
			})
		}
		group.Wait()
		equal(t, firsts.Load(), 20_020)
		equal(t, must(f.Len()), 20_020)
		equal(t, must(other.Len()), 20_020)
	}
}

func TestForgottenFiltersAreFreed(t *testing.T) {
	for range 200 {
		f := must(New(Capacity(1_000_000), Rate(0.001)))
		must(f.InsertUniqueString("a"))
		if must(f.ContainsString("b")) {
			t.Log("a false positive")
		}
	}
	runtime.GC()
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seen.coua")
	f, err := Open(path)
	if engineName != "libcoua" {
		is(t, err, errors.ErrUnsupported)
		return
	}
	ok(t, err)
	must(f.InsertUniqueString("kept"))
	ok(t, f.Commit())
	_, err = Open(path)
	is(t, err, ErrBusy)
	equal(t, must(must(Load(path)).ContainsString("kept")), true)
	must(f.InsertUniqueString("later"))
	ok(t, f.Close())
	_, err = Open(path, Seed(3))
	is(t, err, ErrMismatch)
	f = must(Open(path))
	equal(t, must(f.Len()), 2)
	ok(t, f.Close())
	equal(t, must(must(Load(path)).Len()), 2)
	f = must(Open(path))
	ok(t, f.InsertString("given up"))
	ok(t, f.Abandon())
	is(t, f.Abandon(), ErrClosed)
	is(t, f.Close(), ErrClosed)
	equal(t, must(must(Load(path)).Len()), 2)
}

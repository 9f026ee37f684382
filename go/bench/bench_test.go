// Package bench measures coua beside other filters for Go, in one run:
//
//	go test -tags libcoua -bench . -benchtime 1x -timeout 0 | benchstat -col .name -
//
// For each filter and number of keys: ns a key to insert and to look up, one by one and in batches, bits a key, the rate
// of wrong answers, and the keys that were inserted and are not found.
package bench

import (
	"encoding/binary"
	"flag"
	"fmt"
	"runtime"
	"testing"

	"coua.invalid/coua"
	"github.com/bits-and-blooms/bloom/v3"
	linvon "github.com/linvon/cuckoo-filter"
	panmari "github.com/panmari/cuckoofilter"
	seiflotfy "github.com/seiflotfy/cuckoofilter"
	"golang.org/x/sys/unix"
)

var large = flag.Bool("large", false, "also 10^8 keys")

// A filter under test. insert may be told that there is no room.
type filter interface {
	insert(key []byte)
	contains(key []byte) bool
}

// A filter that takes many keys at a time.
type batched interface {
	insertMany(keys coua.Bytes)
	containsMany(keys coua.Bytes, found []bool) []bool
}

type peer struct {
	name string
	make func(keys uint) filter
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

type couaFilter struct{ *coua.Filter }

func (f couaFilter) insert(key []byte)          { check(f.Insert(key)) }
func (f couaFilter) contains(key []byte) bool   { return must(f.Contains(key)) }
func (f couaFilter) insertMany(keys coua.Bytes) { check(f.InsertMany(keys)) }
func (f couaFilter) containsMany(keys coua.Bytes, found []bool) []bool {
	return must(f.ContainsMany(keys, found))
}

type seiflotfyFilter struct{ *seiflotfy.Filter }

func (f seiflotfyFilter) insert(key []byte)        { f.Insert(key) }
func (f seiflotfyFilter) contains(key []byte) bool { return f.Lookup(key) }

type panmariFilter struct{ *panmari.Filter }

func (f panmariFilter) insert(key []byte)        { f.Insert(key) }
func (f panmariFilter) contains(key []byte) bool { return f.Lookup(key) }

type linvonFilter struct{ *linvon.Filter }

func (f linvonFilter) insert(key []byte)        { f.Add(key) }
func (f linvonFilter) contains(key []byte) bool { return f.Contain(key) }

type bloomFilter struct{ *bloom.BloomFilter }

func (f bloomFilter) insert(key []byte)        { f.Add(key) }
func (f bloomFilter) contains(key []byte) bool { return f.Test(key) }

func ofCoua(rate float64, options ...coua.Option) func(uint) filter {
	return func(keys uint) filter {
		return couaFilter{must(coua.New(append(options, coua.Capacity(uint64(keys)), coua.Rate(rate))...))}
	}
}

// The rates of fingerprints of 8 and 16 bits in buckets of four.
const (
	coarse = 8.0 / (1 << 8)
	fine   = 8.0 / (1 << 16)
)

var peers = []peer{
	{"coua-3.1%", ofCoua(coarse)},
	{"coua-0.012%", ofCoua(fine)},
	{"seiflotfy-8bit", func(keys uint) filter { return seiflotfyFilter{seiflotfy.NewFilter(keys)} }},
	{"panmari-16bit", func(keys uint) filter { return panmariFilter{panmari.NewFilter(keys)} }},
	{"linvon-16bit", func(keys uint) filter {
		return linvonFilter{linvon.NewFilter(4, 16, keys, linvon.TableTypePacked)}
	}},
	{"bloom-3.1%", func(keys uint) filter { return bloomFilter{bloom.NewWithEstimates(keys, coarse)} }},
	{"bloom-0.012%", func(keys uint) filter { return bloomFilter{bloom.NewWithEstimates(keys, fine)} }},
}

// Keys of 16 bytes, those of a number from a place on.
func keysFrom(place, count uint) coua.Bytes {
	all := make([]byte, 16*count)
	keys := make(coua.Bytes, count)
	for i := range keys {
		key := all[16*i : 16*i+16 : 16*i+16]
		number := uint64(place) + uint64(i)
		binary.LittleEndian.PutUint64(key, number*0x9e37_79b9_7f4a_7c15)
		binary.LittleEndian.PutUint64(key[8:], number)
		keys[i] = key
	}
	return keys
}

// Keys that are made at a time: more would measure their memory.
const block = 1 << 16

// timed calls work for blocks of keys, and returns ns a key. The time is that of this thread on a processor: what else
// the machine does does not count.
func timed(place, count uint, work func(keys coua.Bytes)) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	sum := int64(0)
	for end := place + count; place < end; place += block {
		keys := keysFrom(place, min(block, end-place))
		begin := now()
		work(keys)
		sum += now() - begin
	}
	return float64(sum) / float64(count)
}

func now() int64 {
	var time unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &time); err != nil {
		panic(err)
	}
	return time.Nano()
}

func heap() float64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

func BenchmarkFilters(b *testing.B) {
	sizes := []uint{1_000_000, 1 << 20, 10_000_000}
	if *large {
		sizes = append(sizes, 100_000_000)
	}
	for _, keys := range sizes {
		for _, peer := range peers {
			b.Run(fmt.Sprintf("%s/%d", peer.name, keys), func(b *testing.B) {
				for range b.N {
					measure(b, peer, keys)
				}
			})
		}
	}
}

func measure(b *testing.B, peer peer, keys uint) {
	before := heap()
	f := peer.make(keys)
	insert := timed(0, keys, func(keys coua.Bytes) {
		for _, key := range keys {
			f.insert(key)
		}
	})
	bytes := heap() - before
	if of, is := f.(couaFilter); is {
		bytes = float64(must(of.Memory()))
	}
	lost, wrong := 0, 0
	lookup := timed(0, keys, func(keys coua.Bytes) {
		for _, key := range keys {
			if !f.contains(key) {
				lost++
			}
		}
	})
	absent := timed(keys, keys, func(keys coua.Bytes) {
		for _, key := range keys {
			if f.contains(key) {
				wrong++
			}
		}
	})
	if of, is := f.(batched); is {
		found := []bool(nil)
		ask := func(keys coua.Bytes) { found = of.containsMany(keys, found) }
		b.ReportMetric(timed(0, keys, ask), "ns/lookup-in-batches")
		b.ReportMetric(timed(keys, keys, ask), "ns/absent-in-batches")
		again := peer.make(keys).(batched)
		b.ReportMetric(timed(0, keys, func(keys coua.Bytes) { again.insertMany(keys) }), "ns/insert-in-batches")
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(insert, "ns/insert")
	b.ReportMetric(lookup, "ns/lookup")
	b.ReportMetric(absent, "ns/absent")
	b.ReportMetric(8*bytes/float64(keys), "bits/key")
	b.ReportMetric(100*float64(wrong)/float64(keys), "%wrong")
	b.ReportMetric(float64(lost), "lost-keys")
}

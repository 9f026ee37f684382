//go:build !cgo || !libcoua

package coua

import "testing"

// Reading the other filter takes the memory for arguments, also if it fails.
func TestAFailedMergeLeavesNoStaleMemory(t *testing.T) {
	key := Key([16]byte{1})
	f, other := created(t, key), created(t, key)
	must(f.InsertMany(Strings{"a", "b"}, nil))
	must(other.InsertMany(Integers(make([]uint64, many)), nil))
	other.engine.Load().made.key = nil
	is(t, f.Merge(other), ErrNotAFilter)
	equal(t, f.engine.Load().length, 0)
	equal(t, must(f.InsertString("c")), true)
	equal(t, trues(must(f.ContainsMany(Strings{"a", "b", "c"}, nil))), 3)
}

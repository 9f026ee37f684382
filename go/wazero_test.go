//go:build !cgo || !libcoua

package coua

import (
	"os"
	"path/filepath"
	"testing"
)

// Reading the other filter takes the memory for arguments, also if it fails.
func TestAFailedMergeLeavesNoStaleMemory(t *testing.T) {
	key := Key([16]byte{1})
	f, other := created(t, key), created(t, key)
	must(f.InsertUniqueMany(Strings{"a", "b"}, nil))
	must(other.InsertUniqueMany(Integers(make([]uint64, many)), nil))
	other.engine.Load().made.key = nil
	is(t, f.MergeUnique(other), ErrNotAFilter)
	equal(t, f.engine.Load().length, 0)
	equal(t, must(f.InsertUniqueString("c")), true)
	equal(t, trues(must(f.ContainsMany(Strings{"a", "b", "c"}, nil))), 3)
}

// A terabyte is not read, and no memory is taken for it, before the header was checked.
func TestLargeFilesAreRefusedByTheirHeader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large")
	ok(t, os.WriteFile(path, []byte("text"), 0o600))
	ok(t, os.Truncate(path, 1<<40))
	_, err := Load(path)
	is(t, err, ErrNotAFilter)
	ok(t, os.Remove(path))
	ok(t, created(t).Save(path))
	ok(t, os.Truncate(path, 1<<40))
	_, err = Load(path)
	is(t, err, ErrOutOfMemory)
}

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package coua

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestSaveHonorsTheLockOfWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seen.coua")
	f := created(t)
	ok(t, f.Save(path))
	before := must(os.ReadFile(path))
	file := must(os.Open(path))
	ok(t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	must(f.InsertString("a"))
	is(t, f.Save(path), ErrBusy)
	equal(t, string(must(os.ReadFile(path))), string(before))
	ok(t, file.Close())
	ok(t, f.Save(path))
	equal(t, must(must(Load(path)).Len()), 1)
}

func TestPipesAreNoFilters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	ok(t, syscall.Mkfifo(path, 0o600))
	_, err := Load(path)
	is(t, err, ErrNotAFilter)
	is(t, created(t).Save(path), ErrNotAFilter)
}

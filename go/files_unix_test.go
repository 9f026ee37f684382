//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package coua

import (
	"os"
	"os/signal"
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
	must(f.InsertUniqueString("a"))
	is(t, f.Save(path), ErrBusy)
	equal(t, string(must(os.ReadFile(path))), string(before))
	ok(t, file.Close())
	ok(t, f.Save(path))
	equal(t, must(must(Load(path)).Len()), 1)
}

func TestACloseThatFailsCanBeTriedAgain(t *testing.T) {
	if engineName != "libcoua" {
		t.Skip("only libcoua opens files")
	}
	path := filepath.Join(t.TempDir(), "seen.coua")
	f := must(Open(path))
	ok(t, f.Commit())
	must(f.InsertUniqueString("a"))
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var before syscall.Rlimit
	ok(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	less := before
	less.Cur = 100
	ok(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &less))
	err := f.Close()
	ok(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
	is(t, err, ErrIO)
	is(t, err, syscall.EFBIG)
	must(f.InsertUniqueString("b"))
	ok(t, f.Close())
	is(t, f.Close(), ErrClosed)
	equal(t, must(must(Load(path)).Len()), 2)
}

func TestPipesAreNoFilters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	ok(t, syscall.Mkfifo(path, 0o600))
	_, err := Load(path)
	is(t, err, ErrNotAFilter)
	is(t, created(t).Save(path), ErrNotAFilter)
}

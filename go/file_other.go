//go:build (!cgo || !libcoua) && !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package coua

import "os"

// lock does nothing on systems without flock: processes must not save to one file at the same time.
func lock(*os.File) error { return nil }

func keepOwner(_, _ *os.File) {}

// renamed closes the old file first, because Windows cannot replace an open file.
func renamed(from, to string, old *os.File) error {
	old.Close()
	return os.Rename(from, to)
}

func syncFolder(string) error { return nil }

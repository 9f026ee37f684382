//go:build (!cgo || !libcoua) && (darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package coua

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the write lock of a file until it is closed, or fails with EWOULDBLOCK.
func lock(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			return err
		}
	}
}

// keepOwner gives a file the owner of the one that it replaces, or at least the group, if that is allowed.
func keepOwner(file, old *os.File) {
	info, err := old.Stat()
	if err != nil {
		return
	}
	if found, ok := info.Sys().(*syscall.Stat_t); ok && file.Chown(int(found.Uid), int(found.Gid)) != nil {
		file.Chown(-1, int(found.Gid))
	}
}

func renamed(from, to string, _ *os.File) error { return os.Rename(from, to) }

// syncFolder makes new names durable. It does nothing on file systems that do not support this.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

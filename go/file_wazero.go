//go:build !cgo || !libcoua

package coua

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
)

// The header of a file (docs/format.md): its first bytes, and the offset of the snapshot's length.
const (
	magic       = "\x89COUA\r\n\x1a"
	atLength    = 104
	headerBytes = 192
)

const (
	// The most symbolic links that are followed, as in Linux.
	mostLinks = 40
	// The most bytes of a file's name in that of its temporary file: file systems allow 255 in total.
	mostName = 200
)

func refusedBySystem(path, doing string, cause error) error {
	var ofPath *fs.PathError
	if errors.As(cause, &ofPath) {
		cause = ofPath.Err
	}
	return &Error{Message: fmt.Sprintf("%s: cannot %s: %v", path, doing, cause), kind: ErrIO, cause: cause}
}

func noFilter(path, why string) error {
	return &Error{Message: path + ": " + why, kind: ErrNotAFilter}
}

func checkRegular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return noFilter(path, "is not a regular file, so it cannot hold a filter")
}

// readFile returns the bytes of a filter file. It allocates memory for them after checking the header.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // before it is opened, which a pipe would block
	if err != nil {
		return nil, refusedBySystem(path, "open", err)
	}
	if err := checkRegular(path, info); err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, refusedBySystem(path, "open", err)
	}
	defer file.Close()
	header := make([]byte, headerBytes)
	if read, err := io.ReadFull(file, header); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && err != io.EOF {
		return nil, refusedBySystem(path, "read", err)
	} else if read < headerBytes || string(header[:len(magic)]) != magic {
		return nil, noFilter(path, "not a Coua filter")
	}
	if length := binary.LittleEndian.Uint64(header[atLength:]); length > uint64(info.Size()) {
		return nil, noFilter(path, fmt.Sprintf("the file has %d bytes, but its header says %d", info.Size(), length))
	}
	if info.Size() > math.MaxInt32 {
		return nil, failed(3, fmt.Sprintf("%s: out of memory for %d bytes: WebAssembly has 4 GiB", path, info.Size()))
	}
	data := make([]byte, info.Size())
	copy(data, header)
	if read, err := io.ReadFull(file, data[headerBytes:]); err == nil || errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		return data[:headerBytes+read], nil
	}
	return nil, refusedBySystem(path, "read", err)
}

// saveFile replaces a file in one step, as libcoua does, under the write lock. The file must be a filter or empty. It
// follows links, and keeps the mode.
func saveFile(path string, data []byte) (err error) {
	path, err = followed(path)
	if err != nil {
		return err
	}
	old, err := lockedFile(path)
	if err != nil {
		return err
	}
	defer old.Close()
	info, err := old.Stat()
	if err != nil {
		return refusedBySystem(path, "read", err)
	}
	if info.Size() == 0 && !old.isFound {
		defer func() {
			if err != nil {
				os.Remove(path)
			}
		}()
	}
	begin := make([]byte, min(info.Size(), int64(len(magic))))
	if _, err := old.ReadAt(begin, 0); err != nil && err != io.EOF {
		return refusedBySystem(path, "read", err)
	}
	if string(begin) != magic[:len(begin)] {
		return noFilter(path, "not a Coua filter")
	}
	if err := replaceFile(path, old, info.Mode().Perm(), data); err != nil {
		return refusedBySystem(path, "save", err)
	}
	return nil
}

// followed returns the target of symbolic links, which need not exist.
func followed(path string) (string, error) {
	for range mostLinks {
		next, err := os.Readlink(path)
		if err != nil {
			return path, nil
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(filepath.Dir(path), next)
		}
		path = next
	}
	return "", refusedBySystem(path, "follow", errors.New("too many symbolic links"))
}

// A writtenFile is a file that this process may replace.
type writtenFile struct {
	*os.File
	// It existed before.
	isFound bool
}

// lockedFile opens the file, or creates an empty one, and locks it.
func lockedFile(path string) (*writtenFile, error) {
	for {
		file, err := openedFile(path)
		if file == nil && err == nil {
			continue // it came or went meanwhile
		}
		if err != nil {
			return nil, err
		}
		switch err := lock(file.File); {
		case errors.Is(err, syscall.EWOULDBLOCK):
			file.Close()
			return nil, &Error{Message: path + ": another process is writing it", kind: ErrBusy, cause: nil}
		case err != nil:
			file.Close()
			return nil, refusedBySystem(path, "lock", err)
		}
		held, err := file.Stat()
		named, errNamed := os.Stat(path)
		if err == nil && errNamed == nil && os.SameFile(held, named) {
			return file, nil
		}
		file.Close() // another writer has replaced it
	}
}

func openedFile(path string) (*writtenFile, error) {
	flags := os.O_RDWR
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		flags |= os.O_CREATE | os.O_EXCL
	case err != nil:
		return nil, refusedBySystem(path, "open for writing", err)
	default:
		if err := checkRegular(path, info); err != nil {
			return nil, err
		}
	}
	isFound := flags&os.O_CREATE == 0
	file, err := os.OpenFile(path, flags, 0o666)
	switch {
	case err == nil:
		return &writtenFile{file, isFound}, nil
	case isFound && errors.Is(err, fs.ErrNotExist), !isFound && errors.Is(err, fs.ErrExist):
		return nil, nil
	}
	return nil, refusedBySystem(path, "open for writing", err)
}

// replaceFile writes a file beside the old one, and renames it into place. The next writer with libcoua removes what a
// killed process leaves.
func replaceFile(path string, old *writtenFile, mode fs.FileMode, data []byte) error {
	name := filepath.Base(path)
	name = fmt.Sprintf(".%s.%08x.tmp", name[:min(len(name), mostName)], rand.Uint32())
	folder := filepath.Dir(path)
	name = filepath.Join(folder, name)
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		keepOwner(file, old.File)
		err = errors.Join(file.Chmod(mode), file.Sync())
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = renamed(name, path, old.File)
	}
	if err != nil {
		os.Remove(name)
		return err
	}
	return syncFolder(folder)
}

package coua

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Both engines say the same of files.
func TestFilesOfBothEngines(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	cuckoo := created(t)
	must(cuckoo.InsertUniqueString("a"))
	ok(t, cuckoo.Save(in("cuckoo")))
	ok(t, os.WriteFile(in("text"), []byte("somebody's text, of more bytes than a header has "+strings.Repeat("-", 200)), 0o600))
	ok(t, os.WriteFile(in("empty"), nil, 0o600))
	data := must(os.ReadFile(in("cuckoo")))
	ok(t, os.WriteFile(in("half"), data[:len(data)/2], 0o600))
	loaded := func(path string, options ...Option) error {
		f, err := Load(path, options...)
		if err == nil {
			equal(t, must(f.ContainsString("a")), true)
			ok(t, f.Close())
		}
		return err
	}
	for _, row := range []struct {
		name     string
		found    error
		expected error
	}{
		{"a filter", loaded(in("cuckoo")), nil},
		{"asked for as a shared filter", loaded(in("cuckoo"), Shared(), Capacity(7)), nil},
		{"text", loaded(in("text")), ErrNotAFilter},
		{"an empty file", loaded(in("empty")), ErrNotAFilter},
		{"half a filter", loaded(in("half")), ErrNotAFilter},
		{"a folder", loaded(folder), ErrNotAFilter},
		{"a device", loaded(os.DevNull), ErrNotAFilter},
		{"missing", loaded(in("missing")), fs.ErrNotExist},
		{"in no folder", loaded(in("text/cuckoo")), ErrIO},
		{"a zero in the path", loaded(in("cuckoo\x00.txt")), ErrInvalid},
		{"save over text", cuckoo.Save(in("text")), ErrNotAFilter},
		{"save over a folder", cuckoo.Save(folder), ErrNotAFilter},
		{"save over nothing", cuckoo.Save(in("empty")), nil},
		{"save over half a filter", cuckoo.Save(in("half")), nil},
		{"save into no folder", cuckoo.Save(in("no/cuckoo")), fs.ErrNotExist},
		{"save with a zero in the path", cuckoo.Save(in("cuckoo\x00.txt")), ErrInvalid},
	} {
		if !errors.Is(row.found, row.expected) {
			t.Errorf("%s: found %v, expected %v", row.name, row.found, row.expected)
		}
		if errors.Is(row.found, fs.ErrPermission) || (row.expected == ErrNotAFilter && errors.Is(row.found, ErrIO)) {
			t.Errorf("%s: %v has a cause that is not true", row.name, row.found)
		}
	}
	names := must(os.ReadDir(folder))
	equal(t, len(names), 4)
}

func TestReadAsSharedIsNotShared(t *testing.T) {
	data := must(created(t).MarshalBinary())
	read := must(FromBytes(data, Shared()))
	ok(t, read.Compact())
	ok(t, must(read.Clone()).Compact())
	shared := created(t, Shared())
	must(shared.InsertUniqueString("a"))
	is(t, shared.Compact(), ErrUnsupported)
	cloned := must(shared.Clone())
	is(t, cloned.Compact(), ErrUnsupported)
	equal(t, string(must(cloned.Describe())), string(must(shared.Describe())))
}

func TestSaveKeepsLinksAndModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has other links and modes")
	}
	path, link := filepath.Join(t.TempDir(), "seen.coua"), filepath.Join(t.TempDir(), "link")
	ok(t, os.Symlink(path, link))
	f := created(t)
	must(f.InsertUniqueString("a"))
	ok(t, f.Save(link)) // to a file that is not there yet
	ok(t, os.Chmod(path, 0o640))
	ok(t, f.Save(link))
	equal(t, must(os.Lstat(link)).Mode()&fs.ModeSymlink, fs.ModeSymlink)
	equal(t, must(os.Stat(path)).Mode(), 0o640)
	equal(t, must(must(Load(link)).ContainsString("a")), true)
}

func TestTimesBeforeTheEpoch(t *testing.T) {
	f := created(t, GivenWindow(time.Minute))
	start := time.UnixMilli(1_800_000_000_000)
	ok(t, f.Advance(start))
	must(f.InsertUniqueString("old"))
	is(t, f.Advance(time.Time{}), ErrInvalid)
	ok(t, f.Advance(start.Add(time.Hour)))
	equal(t, must(f.ContainsString("old")), false)
}

func TestClosedFilters(t *testing.T) {
	f := created(t)
	ok(t, f.Close())
	for _, keys := range []Keys{Strings{}, Strings{"a"}} {
		_, err := f.CountMany(keys, nil)
		is(t, err, ErrClosed)
		_, err = f.ContainsMany(keys, nil)
		is(t, err, ErrClosed)
	}
}

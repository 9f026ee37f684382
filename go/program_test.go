package coua

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Between two records; no key has these bytes.
const (
	recordEnd     = "\xff\x00|end of key|\n"
	recordEndName = `\xff\x00|end of key|\n`
)

// Keys of every kind: the empty one, texts, integers, and any bytes. Every second one is inserted.
func keysOfAllKinds() (keys, inserted Bytes) {
	for i := range uint64(many) {
		mixed := i * 0x9e37_79b9_7f4a_7c15
		mixed ^= mixed >> 29
		key := binary.LittleEndian.AppendUint64(nil, mixed)
		switch {
		case i == 0:
			key = nil
		case i%5 == 1:
			key = fmt.Append(nil, "key ", i)
		case i%5 == 3:
			key = append(key, key[:i%9]...)
		case i%5 == 4:
			key = bytes.Repeat(key, 25)
		}
		keys = append(keys, key)
		if i%2 == 0 {
			inserted = append(inserted, key)
		}
	}
	return keys, inserted
}

// Filters that the program coua and this package make for each other. COUA_PROGRAM names the program.
func TestTheProgramAndThisPackageReadEachOther(t *testing.T) {
	program := os.Getenv("COUA_PROGRAM")
	if program == "" {
		t.Skip("COUA_PROGRAM does not name the program coua")
	}
	folder := t.TempDir()
	keys, inserted := keysOfAllKinds()
	records := func(name string, keys Bytes) []byte {
		data := bytes.Join(append(keys, nil), []byte(recordEnd))
		ok(t, os.WriteFile(filepath.Join(folder, name), data, 0o600))
		return data
	}
	records("all", keys)
	some := records("some", inserted)
	run := func(arguments ...string) []byte {
		command := exec.Command(program, append(arguments[:1:1], append([]string{"--delimiter", recordEndName}, arguments[1:]...)...)...)
		command.Dir = folder
		found, err := command.Output()
		ok(t, err)
		return found
	}
	run("add", "made-by-coua", "some")
	run("add", "made-by-coua", "some") // in the log: two copies of each
	f := must(Load(filepath.Join(folder, "made-by-coua")))
	found := must(f.ContainsMany(keys, nil))
	copies := must(f.CountMany(keys, nil))
	for i, key := range keys {
		equal(t, found[i], i%2 == 0)
		equal(t, copies[i], uint64(2*(1-i%2)))
		equal(t, must(f.Contains(key)), found[i])
		if len(key) == 8 {
			equal(t, must(f.ContainsUint64(binary.LittleEndian.Uint64(key))), found[i])
		}
	}
	equal(t, must(f.Len()), many)

	f = created(t)
	equal(t, trues(must(f.InsertUniqueMany(inserted, nil))), len(inserted))
	ok(t, f.Save(filepath.Join(folder, "made-by-go")))
	equal(t, bytes.Equal(run("check", "made-by-go", "all"), some), true)
	run("add", "-i", "normalized", "some")
	const options = `"key_options":{"find":{"delimiter":["\\xff\\x00|end of key|\\n"]},"normalize":["ignore-case"]}`
	equal(t, strings.Contains(must(must(Load(filepath.Join(folder, "normalized"))).Describe()), options), true)
	run("add", "made-by-coua-once", "some")
	equal(t, bytes.Equal(must(must(Load(filepath.Join(folder, "made-by-coua-once"))).MarshalBinary()), must(f.MarshalBinary())), true)
}

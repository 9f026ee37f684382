package coua_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"coua.invalid/coua"
)

// Each line the first time it is seen.
func Example() {
	seen, err := coua.New()
	if err != nil {
		log.Fatal(err)
	}
	defer seen.Close()
	for _, line := range []string{"a", "b", "a"} {
		isNew, err := seen.InsertUniqueString(line)
		if err != nil {
			log.Fatal(err)
		}
		if isNew {
			fmt.Println(line)
		}
	}
	// Output:
	// a
	// b
}

// Many keys at a time, in a filter of a fixed size.
func ExampleFilter_InsertUniqueMany() {
	filter, err := coua.New(coua.Capacity(1_000_000), coua.Rate(0.001))
	if err != nil {
		log.Fatal(err)
	}
	defer filter.Close()
	isNew, err := filter.InsertUniqueMany(coua.Strings{"kestrel", "osprey", "kestrel"}, nil)
	if errors.Is(err, coua.ErrFull) {
		log.Fatal("more keys than it was made for")
	}
	fmt.Println(isNew, err)
	// Output: [true true false] <nil>
}

// A key that was removed is absent again.
func ExampleFilter_Remove() {
	seen, err := coua.New()
	if err != nil {
		log.Fatal(err)
	}
	defer seen.Close()
	fmt.Println(seen.InsertUniqueString("/page"))
	fmt.Println(seen.RemoveString("/page"))
	fmt.Println(seen.ContainsString("/page"))
	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
}

// A filter as a file that every coua reads: the program, Python, Rust, C.
func ExampleLoad() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "seen.coua")
	seen, err := coua.New()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := seen.InsertUniqueString("kestrel"); err != nil {
		log.Fatal(err)
	}
	if err := seen.Save(path); err != nil {
		log.Fatal(err)
	}
	loaded, err := coua.Load(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(loaded.ContainsString("kestrel"))
	// Output: true <nil>
}

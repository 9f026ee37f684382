package coua

import (
	"bytes"
	"encoding"
	"fmt"
	"io"
	"math"
	"strings"
)

var (
	_ io.WriterTo                = (*Filter)(nil)
	_ io.ReaderFrom              = (*Filter)(nil)
	_ encoding.BinaryMarshaler   = (*Filter)(nil)
	_ encoding.BinaryUnmarshaler = (*Filter)(nil)
)

// The system, and C, would take such a path for a shorter one.
func checkPath(path string) error {
	if strings.IndexByte(path, 0) < 0 {
		return nil
	}
	return &Error{Message: fmt.Sprintf("the path %q has a zero byte, which no file's name has", path), kind: ErrInvalid}
}

// Save writes the filter to a file, which it replaces in one step; only a filter or an empty file is replaced. Links are
// followed, and the mode of the file stays. While another process writes the file, it returns ErrBusy. Bloom filters
// have no files: MarshalBinary gives their bits.
func (f *Filter) Save(path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	return f.call(func(e *engine) error { return e.save(path) })
}

// Load reads the filter in a file into memory, written by any program or package. Of the options only Key counts.
func Load(path string, options ...Option) (*Filter, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	return made(loadEngine(path, configured(options)))
}

// Open opens the filter in a file, or makes a new one there as the options say; a filter that is there must agree with
// them (ErrMismatch). Commit and Close make changes durable. One process writes at a time: another one gets ErrBusy.
// It needs the build tag libcoua; without, it returns ErrUnsupported.
func Open(path string, options ...Option) (*Filter, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	return made(openEngine(path, configured(options)))
}

// Commit makes the changes to an open file so far durable.
func (f *Filter) Commit() error { return f.call((*engine).commit) }

// MarshalBinary returns what Save writes: the same bytes on every machine.
func (f *Filter) MarshalBinary() (data []byte, err error) {
	err = f.call(func(e *engine) error {
		data, err = e.marshal()
		return err
	})
	return data, err
}

// UnmarshalBinary replaces f by the filter in these bytes. f may be the zero Filter. No other call may be at work.
func (f *Filter) UnmarshalBinary(data []byte) error {
	return f.unmarshal(data, new(config))
}

// FromBytes returns the filter in these bytes. Of the options only Key counts, and Bloom with a Seed or a Key.
func FromBytes(data []byte, options ...Option) (*Filter, error) {
	f := new(Filter)
	if err := f.unmarshal(data, configured(options)); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *Filter) unmarshal(data []byte, c *config) error {
	e, err := unmarshalEngine(data, c)
	if err != nil {
		return err
	}
	if old := f.engine.Load(); old != nil {
		defer old.free()
	}
	f.replace(e)
	return nil
}

// WriteTo writes what MarshalBinary returns.
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	data, err := f.MarshalBinary()
	if err != nil {
		return 0, err
	}
	return bytes.NewReader(data).WriteTo(w)
}

// ReadFrom replaces f by the filter that is read, to the end. f may be the zero Filter. No other call may be at work.
func (f *Filter) ReadFrom(r io.Reader) (int64, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return int64(len(data)), err
	}
	return int64(len(data)), f.UnmarshalBinary(data)
}

func fromBits(bits uint64) float64 { return math.Float64frombits(bits) }

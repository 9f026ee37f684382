package coua

import (
	"bytes"
	"encoding"
	"encoding/json"
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
	_ json.Marshaler             = (*Filter)(nil)
	_ json.Unmarshaler           = (*Filter)(nil)
)

// The system and C would truncate such a path.
func checkPath(path string) error {
	if strings.IndexByte(path, 0) < 0 {
		return nil
	}
	return &Error{Message: fmt.Sprintf("the path %q contains a zero byte", path), kind: ErrInvalid}
}

// Save writes the filter to a file in one step. An existing file must be a filter or empty. Save follows links, and
// keeps the mode of the file. It returns ErrBusy while another process is writing the file.
func (f *Filter) Save(path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	return f.call(func(e *engine) error { return e.save(path) })
}

// Load reads a filter file of any coua program or package into memory. Only the option Key is used.
func Load(path string, options ...Option) (*Filter, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	return made(loadEngine(path, configured(options)))
}

// Open opens the filter in a file, or creates it with the options; an existing filter must agree with them
// (ErrMismatch). Commit and Close make changes durable, and Abandon gives them up. One process writes at a time; another
// one gets ErrBusy. Open needs the build tag libcoua; without it, it returns ErrUnsupported.
func Open(path string, options ...Option) (*Filter, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	return made(openEngine(path, configured(options)))
}

// Commit makes all changes to an open file durable.
func (f *Filter) Commit() error { return f.call((*engine).commit) }

// MarshalBinary returns the bytes that Save writes, which are the same on every machine.
func (f *Filter) MarshalBinary() (data []byte, err error) {
	err = f.call(func(e *engine) error {
		data, err = e.marshal()
		return err
	})
	return data, err
}

// UnmarshalBinary replaces f by the filter in these bytes. f may be the zero Filter. No other call may run at the same
// time.
func (f *Filter) UnmarshalBinary(data []byte) error {
	return f.unmarshal(data, new(config))
}

// FromBytes returns the filter in these bytes. Only the option Key is used.
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

// MarshalJSON returns the bytes of MarshalBinary as a JSON string, in base64.
func (f *Filter) MarshalJSON() ([]byte, error) {
	data, err := f.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return json.Marshal(data)
}

// UnmarshalJSON replaces f by the filter in the string of MarshalJSON, as UnmarshalBinary does. For null it does nothing.
func (f *Filter) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	var data []byte
	if err := json.Unmarshal(text, &data); err != nil {
		return &Error{Message: "JSON of a filter: " + err.Error() + "; expected a string", kind: ErrNotAFilter, cause: err}
	}
	return f.UnmarshalBinary(data)
}

// WriteTo writes the bytes of MarshalBinary.
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	data, err := f.MarshalBinary()
	if err != nil {
		return 0, err
	}
	return bytes.NewReader(data).WriteTo(w)
}

// ReadFrom reads r to its end, and replaces f by the filter in it. f may be the zero Filter. No other call may run at
// the same time.
func (f *Filter) ReadFrom(r io.Reader) (int64, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return int64(len(data)), err
	}
	return int64(len(data)), f.UnmarshalBinary(data)
}

func fromBits(bits uint64) float64 { return math.Float64frombits(bits) }

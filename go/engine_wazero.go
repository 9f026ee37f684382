//go:build !cgo || !libcoua

package coua

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
	"unsafe"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// The engine is the C library as WebAssembly.
const engineName = "wazero"

// Made by scripts/build-go.
//
//go:embed coua.wasm
var code []byte

var background = context.Background()

// compiled is the library in machine code, compiled once for all filters.
var compiled = sync.OnceValues(func() (module compiledModule, err error) {
	module.runtime = wazero.NewRuntime(background)
	host := module.runtime.NewHostModuleBuilder("coua").NewFunctionBuilder()
	now := func() uint64 { return uint64(time.Now().UnixMilli()) }
	if _, err = host.WithFunc(now).Export("coua_now").Instantiate(background); err != nil {
		return module, err
	}
	module.module, err = module.runtime.CompileModule(background, code)
	return module, err
})

type compiledModule struct {
	runtime wazero.Runtime
	module  wazero.CompiledModule
}

// An engine is an instance of the library with its own memory, and a filter in it.
type engine struct {
	mutex   sync.Mutex
	library api.Module
	memory  api.Memory
	handle  uint64
	// The options it was created with, for copies in another memory.
	made config
	// A buffer for arguments.
	buffer, length uint32
	calls          map[string]api.Function
	single         [verbCount + 1][2]api.Function
	stack          [8]uint64
	isBroken       bool
}

var verbs = [...]string{"coua_insert", "coua_insert_unique", "coua_contains", "coua_remove", "coua_count"}

// In the buffer: a result, and where keys begin.
const (
	atResult = 0
	atKeys   = 16
)

func instantiate(c *config) (*engine, error) {
	of, err := compiled()
	if err != nil {
		return nil, fmt.Errorf("coua: cannot compile the library: %w", err)
	}
	library, err := of.runtime.InstantiateModule(background, of.module, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return nil, fmt.Errorf("coua: cannot start the library: %w", err)
	}
	e := &engine{library: library, memory: library.Memory(), made: *c, calls: make(map[string]api.Function)}
	for v, name := range verbs {
		e.single[v] = [2]api.Function{library.ExportedFunction(name), library.ExportedFunction(name + "_u64")}
	}
	return e, nil
}

func newEngine(c *config) (*engine, error) {
	call := "coua_create"
	if c.isShared {
		call = "coua_shared_create"
	}
	return c.instance(func(e *engine) error {
		return e.create(call, 0, func(options, result uint64) []uint64 { return []uint64{options, result} })
	})
}

// instance creates an instance of the library, and a filter in it.
func (c *config) instance(make func(*engine) error) (*engine, error) {
	e, err := instantiate(c)
	if err != nil {
		return nil, err
	}
	if err := make(e); err != nil {
		e.free()
		return nil, err
	}
	return e, nil
}

func loadEngine(path string, c *config) (*engine, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	e, err := unmarshalEngine(data, &config{key: c.key})
	var because *Error
	if errors.As(err, &because) {
		because.Message = path + ": " + because.Message
	}
	return e, err
}

func openEngine(string, *config) (*engine, error) {
	return nil, &Error{
		Message: "a filter in a file needs the C library; build with -tags libcoua, or use Load and Save",
		kind:    ErrUnsupported, cause: errors.ErrUnsupported,
	}
}

func unmarshalEngine(data []byte, c *config) (*engine, error) {
	read := *c
	read.isShared = false
	return read.instance(func(e *engine) error { return e.read(data) })
}

// read loads the filter from these bytes.
func (e *engine) read(data []byte) error {
	const at = atKeys + optionBytes + 16
	if err := e.reserve(at + uint64(len(data))); err != nil {
		return err
	}
	e.memory.Write(e.buffer+at, data)
	bytes, length := uint64(e.buffer)+at, uint64(len(data))
	return e.create("coua_from_bytes", len(data), func(options, result uint64) []uint64 {
		return []uint64{bytes, length, e.keyAt(options), result}
	})
}

// The size of the options in a 32-bit memory; the secret key follows them.
const optionBytes = 80

func (e *engine) keyAt(options uint64) uint64 {
	if e.made.key == nil {
		return 0
	}
	return options + optionBytes
}

// create creates a filter with the options. length bytes follow them in the buffer.
func (e *engine) create(call string, length int, arguments func(options, result uint64) []uint64) error {
	if err := e.reserve(uint64(atKeys + optionBytes + 16 + length)); err != nil {
		return err
	}
	options := uint64(e.buffer) + atKeys
	e.memory.Write(uint32(options), e.made.inMemory(uint32(e.keyAt(options))))
	err := e.call(call, arguments(options, uint64(e.buffer)+atResult)...)
	handle, _ := e.memory.ReadUint32Le(e.buffer + atResult)
	e.handle = uint64(handle)
	return err
}

func (c *config) inMemory(key uint32) []byte {
	order, into := binary.LittleEndian, make([]byte, 0, optionBytes+16)
	into = order.AppendUint64(into, optionBytes) // 4 bytes, and 4 of padding
	into = order.AppendUint64(into, c.capacity)
	into = order.AppendUint64(into, math.Float64bits(c.rate))
	into = order.AppendUint64(into, c.maxItems)
	into = order.AppendUint64(into, c.seed)
	into = order.AppendUint32(into, key)
	into = order.AppendUint32(into, 0)
	into = order.AppendUint64(into, c.windowLength)
	for _, number := range []uint32{c.clock, c.generations, c.windowBy, c.hashBits, c.whenFull, 0} {
		into = order.AppendUint32(into, number)
	}
	return append(into, c.key...)
}

func (e *engine) clone() (*engine, error) {
	data, err := e.marshal()
	if err != nil {
		return nil, err
	}
	return e.made.instance(func(copied *engine) error {
		if err := copied.read(data); err != nil || !e.made.isShared {
			return err
		}
		plain := copied.handle
		defer copied.discard(plain)
		return copied.create("coua_shared_from", 0, func(_, result uint64) []uint64 { return []uint64{plain, result} })
	})
}

func (e *engine) free() { e.library.Close(background) }

func (e *engine) close() error { return nil }

// reserve makes the buffer length bytes long.
func (e *engine) reserve(length uint64) error {
	if length <= uint64(e.length) {
		return nil
	}
	e.length = 0
	if length > math.MaxInt32 {
		return failed(3, fmt.Sprintf("out of memory for %d bytes: WebAssembly has 4 GiB", length))
	}
	results, err := e.function("coua_buffer").Call(background, length)
	if err != nil {
		return e.broken(err)
	}
	if results[0] == 0 {
		return failed(3, fmt.Sprintf("out of memory for %d bytes", length))
	}
	e.buffer, e.length = uint32(results[0]), uint32(length)
	return nil
}

func (e *engine) function(name string) api.Function {
	call, known := e.calls[name]
	if !known {
		call = e.library.ExportedFunction(name)
		e.calls[name] = call
	}
	return call
}

// call makes a call of coua.h.
func (e *engine) call(name string, arguments ...uint64) error {
	copy(e.stack[:], arguments)
	return e.run(e.function(name))
}

// run makes a call whose arguments are on the stack.
func (e *engine) run(call api.Function) error {
	if e.isBroken {
		return e.broken(nil)
	}
	if err := call.CallWithStack(background, e.stack[:]); err != nil {
		return e.broken(err)
	}
	status := int32(e.stack[0])
	if status == 0 {
		return nil
	}
	return e.failure(status)
}

func (e *engine) failure(status int32) error {
	if err := e.function("coua_last_error").CallWithStack(background, e.stack[:]); err != nil {
		return e.broken(err)
	}
	at := uint32(e.stack[0])
	var message []byte
	for c, ok := e.memory.ReadByte(at); ok && c != 0; c, ok = e.memory.ReadByte(at) {
		message = append(message, c)
		at++
	}
	return failed(status, string(message))
}

// broken is the error of an instance in which a call was aborted.
func (e *engine) broken(cause error) error {
	e.isBroken = true
	return &Error{Message: "the filter is unusable, because a call failed internally", kind: ErrPoisoned, cause: cause}
}

func (e *engine) bytes(v verb, key []byte) (uint64, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if err := e.reserve(uint64(atKeys + len(key))); err != nil {
		return 0, err
	}
	e.memory.Write(e.buffer+atKeys, key)
	e.stack = [8]uint64{e.handle, uint64(e.buffer) + atKeys, uint64(len(key)), uint64(e.buffer) + atResult}
	return e.answer(e.single[v][0])
}

func (e *engine) integer(v verb, key uint64) (uint64, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if err := e.reserve(atKeys); err != nil {
		return 0, err
	}
	e.stack = [8]uint64{e.handle, key, uint64(e.buffer) + atResult}
	return e.answer(e.single[v][1])
}

// answer makes a call that may write a number to the buffer, and returns it.
func (e *engine) answer(call api.Function) (uint64, error) {
	e.memory.WriteUint64Le(e.buffer+atResult, 0)
	if err := e.run(call); err != nil {
		return 0, err
	}
	value, _ := e.memory.ReadUint64Le(e.buffer + atResult)
	return value, nil
}

func (e *engine) batch(v verb, keys *packed, answers []byte) error {
	return e.batchInto(v, keys, len(answers), answers)
}

func (e *engine) batchCount(keys *packed, copies []uint64) error {
	return e.batchInto(verbCount, keys, len(copies), littleEndian(copies))
}

// batchInto copies the keys to the library's memory, and the answers back.
func (e *engine) batchInto(v verb, keys *packed, count int, answers []byte) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	sizes, data := []byte(nil), keys.bytes
	if keys.form == formOffsets64 {
		sizes = littleEndian(keys.offsets)
	} else {
		data = littleEndian(keys.integers)
	}
	atSizes := uint64(atKeys + 16)
	atAnswers := atSizes + uint64(len(sizes))
	atData := (atAnswers + uint64(len(answers)) + 7) &^ 7
	if err := e.reserve(atData + uint64(len(data))); err != nil {
		return err
	}
	base := uint64(e.buffer)
	header := binary.LittleEndian.AppendUint32(nil, keys.form)
	for _, number := range []uint64{uint64(count), base + atData, base + atSizes} {
		header = binary.LittleEndian.AppendUint32(header, uint32(number))
	}
	e.memory.Write(e.buffer+atKeys, header)
	e.memory.Write(e.buffer+uint32(atSizes), sizes)
	e.memory.Write(e.buffer+uint32(atData), data)
	err := e.call(verbs[v]+"_batch", e.handle, base+atKeys, base+atAnswers)
	if err == nil || errors.Is(err, ErrFull) {
		found, _ := e.memory.Read(e.buffer+uint32(atAnswers), uint32(len(answers)))
		copy(answers, found)
	}
	return err
}

// littleEndian returns the bytes of numbers. All machines for which wazero compiles WebAssembly are little endian.
func littleEndian[T int64 | uint64](numbers []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(numbers))), 8*len(numbers))
}

func (e *engine) measure(m measure) (uint64, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if err := e.reserve(atKeys); err != nil {
		return 0, err
	}
	e.stack = [8]uint64{e.handle, uint64(e.buffer) + atResult}
	return e.answer(e.function([...]string{"coua_len", "coua_capacity", "coua_memory", "coua_rate"}[m]))
}

func (e *engine) whole(name string, arguments ...uint64) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.call(name, append([]uint64{e.handle}, arguments...)...)
}

func (e *engine) clear() error              { return e.whole("coua_clear") }
func (e *engine) compact() error            { return e.whole("coua_compact") }
func (e *engine) commit() error             { return e.whole("coua_store_commit") }
func (e *engine) advance(time uint64) error { return e.whole("coua_window_advance", time) }

// merge copies the other filter to the memory of this one, and merges it.
func (e *engine) merge(from *engine, isUnique bool) error {
	if e == from {
		return failed(1, "filter and other are the same; a filter cannot be merged with itself")
	}
	data, err := from.marshal()
	if err != nil {
		return err
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.length = 0 // reading takes the buffer, also if it fails
	other := engine{library: e.library, memory: e.memory, calls: e.calls, made: from.made}
	if err := other.read(data); err != nil {
		return err
	}
	call := "coua_merge"
	if isUnique {
		call = "coua_merge_unique"
	}
	defer e.discard(other.handle)
	return e.call(call, e.handle, other.handle)
}

// discard frees a filter other than the instance's own.
func (e *engine) discard(handle uint64) {
	if _, err := e.function("coua_free").Call(background, handle); err != nil {
		e.isBroken = true
	}
}

func (e *engine) save(path string) error {
	data, err := e.marshal()
	if err != nil {
		return err
	}
	return saveFile(path, data)
}

// written gets the length, and then the bytes.
func (e *engine) written(name string) ([]byte, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	capacity := uint64(0)
	for {
		if err := e.reserve(atKeys + capacity); err != nil {
			return nil, err
		}
		base := uint64(e.buffer)
		err := e.call(name, e.handle, base+atKeys, capacity, base+atResult)
		length, _ := e.memory.ReadUint32Le(e.buffer + atResult)
		if err == nil {
			found, _ := e.memory.Read(e.buffer+atKeys, length)
			return append([]byte(nil), found...), nil
		}
		if capacity != 0 || length == 0 {
			return nil, err
		}
		capacity = uint64(length) + 1
	}
}

func (e *engine) marshal() ([]byte, error) { return e.written("coua_to_bytes") }

func (e *engine) describe() (string, error) {
	text, err := e.written("coua_describe")
	return string(text), err
}

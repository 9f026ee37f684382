//go:build cgo && libcoua

package coua

/*
#cgo pkg-config: --static coua
#cgo noescape coua_go_bytes
#cgo nocallback coua_go_bytes
#cgo noescape coua_go_integer
#cgo nocallback coua_go_integer
#cgo noescape coua_go_batch
#cgo nocallback coua_go_batch

#include <coua.h>
#include <stdlib.h>
#include <string.h>

// What a call gives: the message of an error at once, for the next call may be on another thread.
typedef struct {
	uint64_t value;
	char *message;
	int32_t status;
	int32_t os_error;
} coua_go_result;

static coua_go_result coua_go_done(coua_status status, uint64_t value) {
	coua_go_result result = {value, NULL, status, 0};
	if (status != COUA_OK) {
		result.message = strdup(coua_last_error());
		result.os_error = coua_last_os_error();
	}
	return result;
}

// A call for one key, in one of its forms.
#define COUA_GO_ONE(name, suffix, parameters, ...)                                                 \
	static coua_go_result name(coua_filter *filter, int32_t verb, parameters) {                    \
		uint64_t value = 0;                                                                        \
		bool yes = false;                                                                          \
		coua_status status;                                                                        \
		switch (verb) {                                                                            \
		case 0: status = coua_insert##suffix(filter, __VA_ARGS__); break;                          \
		case 1: status = coua_insert_unique##suffix(filter, __VA_ARGS__, &yes); break;             \
		case 2: status = coua_contains##suffix(filter, __VA_ARGS__, &yes); break;                  \
		case 3: status = coua_remove##suffix(filter, __VA_ARGS__, &yes); break;                    \
		default: status = coua_count##suffix(filter, __VA_ARGS__, &value); break;                  \
		}                                                                                          \
		return coua_go_done(status, value | yes);                                                  \
	}
#define COUA_GO_BYTES const void *key, size_t length

COUA_GO_ONE(coua_go_bytes, , COUA_GO_BYTES, key, length)
COUA_GO_ONE(coua_go_integer, _u64, uint64_t key, key)

static coua_go_result coua_go_batch(coua_filter *filter, int32_t verb, uint32_t form, size_t count,
                                    const void *data, const void *sizes, void *answers) {
	const coua_keys keys = {form, count, data, sizes};
	coua_status status;
	switch (verb) {
	case 0: status = coua_insert_batch(filter, &keys, answers); break;
	case 1: status = coua_insert_unique_batch(filter, &keys, answers); break;
	case 2: status = coua_contains_batch(filter, &keys, answers); break;
	case 3: status = coua_remove_batch(filter, &keys, answers); break;
	default: status = coua_count_batch(filter, &keys, answers); break;
	}
	return coua_go_done(status, 0);
}

static coua_go_result coua_go_measure(const coua_filter *filter, int32_t measure) {
	uint64_t value = 0;
	double rate = 0;
	coua_status status;
	switch (measure) {
	case 0: status = coua_len(filter, &value); break;
	case 1: status = coua_capacity(filter, &value); break;
	case 2: status = coua_memory(filter, &value); break;
	default: status = coua_rate(filter, &rate); memcpy(&value, &rate, sizeof value); break;
	}
	return coua_go_done(status, value);
}

// Calls that change the filter as a whole.
static coua_go_result coua_go_whole(coua_filter *filter, int32_t call, const coua_filter *other, uint64_t time) {
	switch (call) {
	case 0: return coua_go_done(coua_clear(filter), 0);
	case 1: return coua_go_done(coua_compact(filter), 0);
	case 2: return coua_go_done(coua_store_commit(filter), 0);
	case 3: return coua_go_done(coua_store_close(filter), 0);
	case 4: return coua_go_done(coua_window_advance(filter, time), 0);
	case 5: return coua_go_done(coua_merge(filter, other), 0);
	default: return coua_go_done(coua_merge_unique(filter, other), 0);
	}
}

static coua_go_result coua_go_save(const coua_filter *filter, const char *path) {
	return coua_go_done(coua_save(filter, path), 0);
}

// Describes (0) or writes (1) the filter. The value is the length.
static coua_go_result coua_go_write(const coua_filter *filter, int32_t call, void *into, size_t capacity) {
	size_t length = 0;
	const coua_status status = call == 0 ? coua_describe(filter, into, capacity, &length)
	                                     : coua_to_bytes(filter, into, capacity, &length);
	return coua_go_done(status, length);
}

typedef struct {
	coua_filter *made;
	coua_go_result result;
} coua_go_made;

// Makes a filter.
static coua_go_made coua_go_make(int32_t call, const coua_options *options, const void *data, size_t length,
                                 const coua_filter *from) {
	coua_filter *made = NULL;
	coua_status status;
	switch (call) {
	case 0: status = coua_create(options, &made); break;
	case 1: status = coua_shared_create(options, &made); break;
	case 2: status = coua_from_bytes(data, length, options->key, &made); break;
	case 3: status = coua_load(data, options->key, &made); break;
	case 4: status = coua_store_open(data, options, 0, &made); break;
	default: status = coua_clone(from, &made); break;
	}
	const coua_go_made done = {made, coua_go_done(status, 0)};
	return done;
}

static void coua_go_init(coua_options *options) { coua_options_init(options, sizeof *options); }
*/
import "C"

import (
	"errors"
	"runtime"
	"syscall"
	"unsafe"
)

// The engine is the C library.
const engineName = "libcoua"

type engine struct {
	handle *C.coua_filter
	isFile bool
}

// Calls of coua_go_make.
const (
	makeNew = iota
	makeShared
	makeFromBytes
	makeLoad
	makeOpen
	makeClone
)

func done(r C.coua_go_result) (uint64, error) {
	if r.status == 0 {
		return uint64(r.value), nil
	}
	message := C.GoString(r.message)
	C.free(unsafe.Pointer(r.message))
	err := failed(int32(r.status), message)
	if because := (*Error)(nil); r.os_error != 0 && errors.As(err, &because) {
		because.cause = syscall.Errno(r.os_error)
	}
	return uint64(r.value), err
}

func only(r C.coua_go_result) error {
	_, err := done(r)
	return err
}

func (c *config) make(call C.int32_t, data unsafe.Pointer, length int, from *C.coua_filter) (*engine, error) {
	var options C.coua_options
	C.coua_go_init(&options)
	options.capacity = C.uint64_t(c.capacity)
	options.rate = C.double(c.rate)
	options.max_items = C.uint64_t(c.maxItems)
	options.seed = C.uint64_t(c.seed)
	options.window_length = C.uint64_t(c.windowLength)
	options.window_clock = C.uint32_t(c.clock)
	options.window_generations = C.uint32_t(c.generations)
	options.window_by = C.uint32_t(c.windowBy)
	options.hash_bits = C.uint32_t(c.hashBits)
	options.when_full = C.uint32_t(c.whenFull)
	if c.key != nil {
		var pinned runtime.Pinner
		defer pinned.Unpin()
		pinned.Pin(&c.key[0])
		options.key = (*C.uint8_t)(&c.key[0])
	}
	made := C.coua_go_make(call, &options, data, C.size_t(length), from)
	return &engine{handle: made.made}, only(made.result)
}

func newEngine(c *config) (*engine, error) {
	if c.isShared {
		return c.make(makeShared, nil, 0, nil)
	}
	return c.make(makeNew, nil, 0, nil)
}

func (c *config) makeAt(call C.int32_t, path string) (*engine, error) {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return c.make(call, unsafe.Pointer(text), 0, nil)
}

func loadEngine(path string, c *config) (*engine, error) { return c.makeAt(makeLoad, path) }

func openEngine(path string, c *config) (*engine, error) {
	e, err := c.makeAt(makeOpen, path)
	e.isFile = true
	return e, err
}

func unmarshalEngine(data []byte, c *config) (*engine, error) {
	return c.make(makeFromBytes, unsafe.Pointer(unsafe.SliceData(data)), len(data), nil)
}

func (e *engine) clone() (*engine, error) { return new(config).make(makeClone, nil, 0, e.handle) }

func (e *engine) free() { C.coua_free(e.handle) }

func (e *engine) close() error {
	if !e.isFile {
		return nil
	}
	return e.whole(3, nil, 0)
}

func (e *engine) bytes(v verb, key []byte) (uint64, error) {
	data := unsafe.Pointer(unsafe.SliceData(key))
	r := C.coua_go_bytes(e.handle, C.int32_t(v), data, C.size_t(len(key)))
	if r.status != 0 {
		return done(r)
	}
	return uint64(r.value), nil
}

func (e *engine) integer(v verb, key uint64) (uint64, error) {
	r := C.coua_go_integer(e.handle, C.int32_t(v), C.uint64_t(key))
	if r.status != 0 {
		return done(r)
	}
	return uint64(r.value), nil
}

func (e *engine) batch(v verb, keys *packed, answers []byte) error {
	return e.batchInto(v, keys, len(answers), unsafe.Pointer(unsafe.SliceData(answers)))
}

func (e *engine) batchCount(keys *packed, copies []uint64) error {
	return e.batchInto(verbCount, keys, len(copies), unsafe.Pointer(unsafe.SliceData(copies)))
}

func (e *engine) batchInto(v verb, keys *packed, count int, answers unsafe.Pointer) error {
	data, sizes := unsafe.Pointer(unsafe.SliceData(keys.integers)), unsafe.Pointer(nil)
	if keys.form == formOffsets64 {
		data, sizes = unsafe.Pointer(unsafe.SliceData(keys.bytes)), unsafe.Pointer(&keys.offsets[0])
	}
	return only(C.coua_go_batch(e.handle, C.int32_t(v), C.uint32_t(keys.form), C.size_t(count), data, sizes, answers))
}

func (e *engine) measure(m measure) (uint64, error) {
	return done(C.coua_go_measure(e.handle, C.int32_t(m)))
}

func (e *engine) whole(call C.int32_t, other *C.coua_filter, time uint64) error {
	return only(C.coua_go_whole(e.handle, call, other, C.uint64_t(time)))
}

func (e *engine) clear() error              { return e.whole(0, nil, 0) }
func (e *engine) compact() error            { return e.whole(1, nil, 0) }
func (e *engine) commit() error             { return e.whole(2, nil, 0) }
func (e *engine) advance(time uint64) error { return e.whole(4, nil, time) }

func (e *engine) merge(from *engine, isUnique bool) error {
	call := C.int32_t(5)
	if isUnique {
		call = 6
	}
	return e.whole(call, from.handle, 0)
}

func (e *engine) save(path string) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return only(C.coua_go_save(e.handle, text))
}

// written gets the length and then the bytes, and repeats this if the filter has grown in between.
func (e *engine) written(call C.int32_t) ([]byte, error) {
	var into []byte
	for {
		data := unsafe.Pointer(unsafe.SliceData(into))
		r := C.coua_go_write(e.handle, call, data, C.size_t(len(into)))
		const tooSmall = 9
		length, err := done(r)
		if r.status != tooSmall {
			return into[:min(uint64(len(into)), length)], err
		}
		into = make([]byte, length+1)
	}
}

func (e *engine) marshal() ([]byte, error) { return e.written(1) }

func (e *engine) describe() (string, error) {
	text, err := e.written(0)
	return string(text), err
}

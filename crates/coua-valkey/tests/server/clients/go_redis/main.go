// Every call that go-redis has for these filters, under RESP2 and RESP3: go_redis PORT
package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

func check(what string, err error) {
	if err != nil {
		panic(fmt.Sprintf("%s: %v", what, err))
	}
}

// call makes a call by its name, and remembers that it was called.
type caller struct {
	client *redis.Client
	called map[string]bool
}

func (c caller) call(name string, arguments ...any) (any, error) {
	c.called[name] = true
	values := []reflect.Value{reflect.ValueOf(ctx)}
	for _, argument := range arguments {
		values = append(values, reflect.ValueOf(argument))
	}
	results := reflect.ValueOf(c.client).MethodByName(name).Call(values)[0].MethodByName("Result").Call(nil)
	err, _ := results[1].Interface().(error)
	return results[0].Interface(), err
}

// is checks what a call returns, as its type is printed.
func (c caller) is(expected, name string, arguments ...any) {
	found, err := c.call(name, arguments...)
	check(name, err)
	if text := fmt.Sprintf("%+v", found); text != expected {
		panic(fmt.Sprintf("%s%v: found %s, expected %s", name, arguments, text, expected))
	}
}

func (c caller) refuses(text, name string, arguments ...any) {
	found, err := c.call(name, arguments...)
	if err == nil || !strings.Contains(err.Error(), text) {
		panic(fmt.Sprintf("%s%v: found %v, %v, expected %q", name, arguments, found, err, text))
	}
}

func (c caller) cuckoo() {
	c.is("OK", "CFReserve", "cf", int64(1000))
	c.is("OK", "CFReserveExpansion", "cf2", int64(1000), int64(3))
	c.is("OK", "CFReserveBucketSize", "cf3", int64(1000), int64(4))
	c.is("OK", "CFReserveMaxIterations", "cf4", int64(1000), int64(50))
	c.is("OK", "CFReserveWithArgs", "cf5",
		&redis.CFReserveOptions{Capacity: 1000, BucketSize: 4, MaxIterations: 50, Expansion: 3})
	c.refuses("item exists", "CFReserve", "cf", int64(1000))
	c.is("true", "CFAdd", "cf", "a")
	c.is("false", "CFAddNX", "cf", "a")
	c.is("true", "CFAddNX", "cf", "b")
	c.is("[true true]", "CFInsert", "cf", &redis.CFInsertOptions{}, "c", "d")
	c.is("[true]", "CFInsert", "cf6", &redis.CFInsertOptions{Capacity: 500}, "c")
	c.refuses("not found", "CFInsert", "none", &redis.CFInsertOptions{NoCreate: true}, "c")
	c.is("[0 1]", "CFInsertNX", "cf", &redis.CFInsertOptions{}, "d", "e")
	c.is("true", "CFExists", "cf", "a")
	c.is("false", "CFExists", "cf", "x")
	c.is("[true false]", "CFMExists", "cf", "a", "x")
	c.is("1", "CFCount", "cf", "a")
	c.is("true", "CFDel", "cf", "a")
	c.is("false", "CFDel", "cf", "a")
	found, err := c.call("CFInfo", "cf5")
	check("CFInfo", err)
	info := found.(redis.CFInfo)
	if info.BucketSize != 4 || info.MaxIteration != 50 || info.ExpansionRate != 3 || info.NumFilters != 1 {
		panic(fmt.Sprintf("CFInfo: %+v", info))
	}
	c.copied("cf", "cf7")
	c.is("[false true true]", "CFMExists", "cf7", "a", "b", "c")
}

func (c caller) copied(from, to string) {
	for iterator := int64(0); ; {
		found, err := c.call("CFScanDump", from, iterator)
		dump := found.(redis.ScanDump)
		// At the end there is nil, as RedisBloom answers, for which go-redis has an error.
		if iterator = dump.Iter; iterator == 0 && (err == nil || err == redis.Nil) {
			return
		}
		check("CFScanDump", err)
		c.is("OK", "CFLoadChunk", to, iterator, dump.Data)
	}
}

func main() {
	for _, protocol := range []int{2, 3} {
		client := redis.NewClient(&redis.Options{Addr: "localhost:" + os.Args[1], Protocol: protocol})
		check("flush", client.FlushAll(ctx).Err())
		c := caller{client, make(map[string]bool)}
		c.cuckoo()
		all := reflect.TypeFor[redis.ProbabilisticCmdable]()
		for i := range all.NumMethod() {
			name := all.Method(i).Name
			if name[:2] == "CF" && !c.called[name] {
				panic("not called: " + name)
			}
		}
		check("close", client.Close())
	}
}

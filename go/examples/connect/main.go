// Command connect is Redpanda Connect with the cache coua, in which the processor dedupe remembers 15 million ids in
// a process of 0.14 GB: go run . run pipeline.yaml
package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"coua.invalid/coua"
	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
	"github.com/redpanda-data/benthos/v4/public/service"
)

var spec = service.NewConfigSpec().
	Summary("Remembers keys, without values, in a filter with a window.").
	Fields(
		service.NewDurationField("window").Description("The age at which a key is forgotten, since it was first added."),
		service.NewIntField("items").Description("The number of keys in a window, up to which the rate holds."),
		service.NewFloatField("rate").Default(1e-9).Description("The rate of new keys that are mistaken for known ones."),
		service.NewStringField("file").Default("").Description("A file that keeps the keys. It needs the build tag libcoua."),
	)

func init() { service.MustRegisterCache("coua", spec, sharedCache) }

// cache implements service.Cache.
type cache struct {
	filter *coua.Filter
	logger *service.Logger
	label  string
	// stop ends the commits of a file, and closes stopped.
	stop    context.CancelFunc
	stopped chan struct{}
}

// The caches that are open, by label.
var (
	caches = map[string]*cache{}
	lock   sync.Mutex
)

// sharedCache returns one cache to all threads: the engine creates a cache when it is first used, and if two threads use
// it at once, twice.
func sharedCache(config *service.ParsedConfig, engine *service.Resources) (service.Cache, error) {
	lock.Lock()
	defer lock.Unlock()
	if c := caches[engine.Label()]; c != nil {
		return c, nil
	}
	c, err := newCache(config, engine)
	if err != nil {
		return nil, err
	}
	caches[c.label] = c
	return c, nil
}

func newCache(config *service.ParsedConfig, engine *service.Resources) (*cache, error) {
	window, windowErr := config.FieldDuration("window")
	items, itemsErr := config.FieldInt("items")
	rate, rateErr := config.FieldFloat("rate")
	file, fileErr := config.FieldString("file")
	if err := errors.Join(windowErr, itemsErr, rateErr, fileErr); err != nil {
		return nil, err
	}
	// A filter that refused keys would make dedupe drop their messages: this one grows.
	options := []coua.Option{coua.Window(window), coua.MaxItems(uint64(max(items, 0))), coua.Rate(rate), coua.Exceed()}
	working, stop := context.WithCancel(context.Background())
	c := &cache{label: engine.Label(), logger: engine.Logger(), stop: stop, stopped: make(chan struct{})}
	var err error
	if file == "" {
		c.filter, err = coua.New(options...)
		close(c.stopped)
	} else if c.filter, err = coua.Open(file, options...); err == nil {
		go c.commitEverySecond(working)
	}
	return c, err
}

func (c *cache) commitEverySecond(working context.Context) {
	defer close(c.stopped)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-working.Done():
			return
		case <-tick.C:
			if err := c.filter.Commit(); err != nil {
				c.logger.Errorf("the file of a cache: %v", err)
			}
		}
	}
}

func (c *cache) Add(_ context.Context, key string, _ []byte, _ *time.Duration) error {
	isNew, err := c.filter.InsertUniqueString(key)
	if err == nil && !isNew {
		return service.ErrKeyAlreadyExists
	}
	return err
}

// Get returns an empty value for every key that is present.
func (c *cache) Get(_ context.Context, key string) ([]byte, error) {
	found, err := c.filter.ContainsString(key)
	if err == nil && !found {
		return nil, service.ErrKeyNotFound
	}
	return nil, err
}

func (c *cache) Set(context.Context, string, []byte, *time.Duration) error {
	return errors.New("the cache coua has no values: found the operator set; expected add, exists or delete")
}

func (c *cache) Delete(_ context.Context, key string) error {
	_, err := c.filter.RemoveString(key)
	return err
}

func (c *cache) Close(context.Context) error {
	lock.Lock()
	defer lock.Unlock()
	delete(caches, c.label)
	c.stop()
	<-c.stopped
	return c.filter.Close()
}

func main() { service.RunCLI(context.Background()) }

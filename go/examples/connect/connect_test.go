package main

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"coua.invalid/coua"
	"github.com/redpanda-data/benthos/v4/public/service"
)

func TestPipelinePrintsEachIDOnce(t *testing.T) {
	printed, err := exec.Command("go", "run", ".", "run", "pipeline.yaml").Output()
	if lines := bytes.Count(printed, []byte("\n")); err != nil || lines != 100_000 {
		t.Fatalf("found %d lines, error %v; expected 100000", lines, err)
	}
}

func created(t *testing.T, yaml string) *cache {
	config, err := spec.ParseYAML(yaml, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCache(config, service.MockResources())
	if errors.Is(err, coua.ErrUnsupported) {
		t.Skip("files need the build tag libcoua")
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func is(t *testing.T, found, expected error) {
	t.Helper()
	if found != expected {
		t.Fatalf("found %v, expected %v", found, expected)
	}
}

func TestFileKeepsKeys(t *testing.T) {
	ctx, yaml := context.Background(), "window: 1h\nitems: 100\nfile: "+filepath.Join(t.TempDir(), "seen.coua")
	c := created(t, yaml)
	is(t, c.Add(ctx, "kestrel", nil, nil), nil)
	is(t, c.Add(ctx, "osprey", nil, nil), nil)
	is(t, c.Close(ctx), nil)
	c = created(t, yaml)
	is(t, c.Add(ctx, "kestrel", nil, nil), service.ErrKeyAlreadyExists)
	is(t, c.Delete(ctx, "kestrel"), nil)
	_, err := c.Get(ctx, "kestrel")
	is(t, err, service.ErrKeyNotFound)
	_, err = c.Get(ctx, "osprey")
	is(t, err, nil)
	is(t, c.Close(ctx), nil)
}

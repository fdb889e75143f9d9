package config

import (
	"maps"
	"path/filepath"
	"slices"
)

// In returns a copy for a herd of its own in dir: Redis, store, blobs and all
// folders are there, whatever the settings named.
func (c *Config) In(dir string) *Config {
	own := *c
	own.Pools, own.sources = slices.Clone(c.Pools), maps.Clone(c.sources)
	for _, name := range []string{"redis", "redis_password_file", "store", "blobs", "data", "run"} {
		delete(own.sources, name)
	}
	own.RedisPasswordFile, own.Data, own.Run = "", dir, filepath.Join(dir, "run")
	own.Redis = URL("unix://" + filepath.Join(dir, "redis.sock"))
	own.Store = URL("sqlite://" + filepath.Join(dir, "drover.db"))
	own.Blobs = URL("file://" + filepath.Join(dir, "blobs"))
	return &own
}

package core

import (
	"context"
	"time"
)

// Bounds of a cache, in bytes.
const (
	MaxCacheName = 1024 // of a name, and of a field
	MaxCacheText = 4096
)

// Cache keeps short texts, by name and field, for a limited time. A loss of Redis loses them.
type Cache interface {
	// Put sets a field. If a name then has more than about most fields, the oldest ones are deleted. Returns LIMIT
	// for a name, field or text that is too long.
	Put(ctx context.Context, name, field, text string, most int, keep time.Duration) error
	// Fields returns all fields of a name; the map is empty for an unknown name.
	Fields(ctx context.Context, name string) (map[string]string, error)
	// Count counts the calls for a name and returns their number, starting at 1. Numbers may be skipped.
	Count(ctx context.Context, name string, keep time.Duration) (int64, error)
}

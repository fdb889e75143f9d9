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

// Cache keeps short texts by name and field until a while after they were put. A loss of
// Redis loses them.
type Cache interface {
	// Put sets a field. Where a name has more than most, but for a few, those that were put
	// first are forgotten. Returns LIMIT for what is too long.
	Put(ctx context.Context, name, field, text string, most int, keep time.Duration) error
	// Fields returns all of a name; none of what is not there.
	Fields(ctx context.Context, name string) (map[string]string, error)
	// Count counts a name's calls, from 1; a number may be left out.
	Count(ctx context.Context, name string, keep time.Duration) (int64, error)
}

package blobs

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"drover/core/service/clock"
)

// memory is a bucket that ends with the program.
type memory struct {
	mu    sync.Mutex
	files map[string]held
}

type held struct {
	file
	content []byte // never changed
}

func (m *memory) open(_ context.Context, key string) (io.ReadCloser, int64, error) {
	f, err := m.get(key)
	return io.NopCloser(bytes.NewReader(f.content)), f.size, err
}

// get returns a file, or fs.ErrNotExist.
func (m *memory) get(key string) (held, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.files[key]
	if !ok {
		return held{}, fs.ErrNotExist
	}
	return f, nil
}

func (m *memory) write(ctx context.Context, key string, content io.Reader, _ int64) error {
	whole, err := io.ReadAll(watched{ctx, content})
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(key, whole)
	return nil
}

// put needs the lock.
func (m *memory) put(key string, content []byte) {
	m.files[key] = held{file{key, int64(len(content)), clock.Real{}.Now()}, content}
}

func (m *memory) create(_ context.Context, key, content string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.files[key]; !ok {
		m.put(key, []byte(content))
	}
	return nil
}

// move is not atomic, as it is not on S3.
func (m *memory) move(ctx context.Context, from, to string, size int64, within time.Duration) error {
	return moveByCopy(ctx, m, from, to, size, within)
}

func (m *memory) copy(_ context.Context, from, to string, _ int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.files[from]
	if !ok {
		return fs.ErrNotExist
	}
	m.put(to, f.content)
	return nil
}

func (m *memory) exists(_ context.Context, key string) (bool, error) {
	_, err := m.get(key)
	return err == nil, nil
}

func (m *memory) remove(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, key)
	return nil
}

func (m *memory) list(ctx context.Context, prefix string, fn func(f file) error) error {
	m.mu.Lock()
	keys := slices.Sorted(maps.Keys(m.files))
	m.mu.Unlock()
	for _, key := range keys {
		f, err := m.get(key)
		if err != nil || !strings.HasPrefix(key, prefix) {
			continue
		}
		if err := fn(f.file); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (m *memory) close() {}

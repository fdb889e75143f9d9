package blobs

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// entry is a file of the cache's folder.
type entry struct {
	name string
	size int64
	used time.Time
}

// trim removes the least recently used files until the rest fits, except keep, and the leftovers of dead fetchers. It
// reads the folder each time, which costs little compared to the fetch that made it necessary.
func (c *Cache) trim(keep string) error {
	entries, total, err := c.entries()
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(a.used.Compare(b.used), strings.Compare(a.name, b.name))
	})
	kept := map[string]bool{}
	for _, e := range entries {
		if total <= c.opts.MaxBytes || e.name == keep {
			kept[e.name] = true
			continue
		}
		if err := c.root.Remove(e.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return c.fault(err)
		}
		c.evicted.Add(1)
		total -= e.size
	}
	c.files.Store(int64(len(kept)))
	c.bytes.Store(total)
	c.forget(kept)
	return nil
}

// forget drops the records of files that are gone.
func (c *Cache) forget(kept map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for digits := range c.verified {
		if !kept[digits] {
			delete(c.verified, digits)
		}
	}
}

// entries lists the files and the sum of their sizes.
func (c *Cache) entries() (all []entry, total int64, err error) {
	dir, err := c.root.Open(".")
	if err != nil {
		return nil, 0, c.fault(err)
	}
	names, err := dir.Readdirnames(-1)
	if err := errors.Join(err, dir.Close()); err != nil {
		return nil, 0, c.fault(err)
	}
	for _, name := range names {
		info, err := c.root.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, 0, c.fault(err)
		case hexPattern().MatchString(name) && info.Mode().IsRegular():
			all = append(all, entry{name, info.Size(), info.ModTime()})
			total += info.Size()
		case c.strandedFetch(name, info):
			if err := c.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, 0, c.fault(err)
			}
		}
	}
	return all, total, nil
}

func (c *Cache) strandedFetch(name string, info os.FileInfo) bool {
	return strings.HasPrefix(name, fetchPrefix) && c.opts.Clock.Now().Sub(info.ModTime()) > fetchStranded
}

package coretest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"drover/core/service/pattern"
)

// Picture is a whole namespace in readable lines, "key: content" or, of a hash, "key field: value", sorted. Times are
// written as TIME, specs as SPEC. Counters and indices are left out: the consistency check compares them with the rest.
type Picture []string

var (
	pictureTime = pattern.New(`\b[1-9]\d{12}\b`)
	// What Redis notes of its own time and memory, and what follows from other keys.
	pictureLeavesOut = pattern.New(`^(meta (incarnation|old_memory|gaps|back_at):|counts |held |owners:on:)`)
	pictureSpec      = pattern.New(`\{"id":.*\}`)
	pictureID        = pattern.New(`\b[A-Z2-7]{26}\b`)
	pictureRoom      = pattern.New(`\| {50}$`)
)

// Picture takes one. words replace what differs from run to run, such as epochs.
func (b *Backend) Picture(t testing.TB, words ...string) Picture {
	t.Helper()
	ctx := context.Background()
	keys, err := b.Admin.Keys(ctx, b.Namespace+":*").Result()
	require.NoError(t, err)
	var lines Picture
	for _, key := range keys {
		kind, err := b.Admin.Type(ctx, key).Result()
		require.NoError(t, err)
		name := strings.TrimPrefix(key, b.Namespace+":")
		for _, line := range contents(t, b.Admin, key, kind) {
			if line = name + line; !pictureLeavesOut().MatchString(line) {
				lines = append(lines, line)
			}
		}
	}
	words = append(words, b.Namespace+":", "")
	plain := strings.NewReplacer(words...)
	for i, line := range lines {
		line = pictureSpec().ReplaceAllString(line, "SPEC")
		line = pictureTime().ReplaceAllString(line, "TIME")
		line = pictureRoom().ReplaceAllString(line, "|")
		line = pictureID().ReplaceAllString(line, "ID")
		lines[i] = plain.Replace(line)
	}
	slices.Sort(lines)
	return lines
}

func contents(t testing.TB, db *redis.Client, key, kind string) []string {
	t.Helper()
	ctx := context.Background()
	var lines []string
	var err error
	switch kind {
	case "hash":
		var fields map[string]string
		fields, err = db.HGetAll(ctx, key).Result()
		for f, v := range fields {
			lines = append(lines, " "+f+": "+v)
		}
	case "list":
		var items []string
		items, err = db.LRange(ctx, key, 0, -1).Result()
		lines = []string{": " + strings.Join(items, " ")}
	case "set":
		var items []string
		items, err = db.SMembers(ctx, key).Result()
		slices.Sort(items)
		lines = []string{": " + strings.Join(items, " ")}
	case "zset":
		var items []redis.Z
		items, err = db.ZRangeWithScores(ctx, key, 0, -1).Result()
		for _, z := range items {
			lines = append(lines, fmt.Sprintf(" %s: %.0f", z.Member, z.Score))
		}
	case "stream":
		var entries []redis.XMessage
		entries, err = db.XRange(ctx, key, "-", "+").Result()
		for _, e := range entries {
			lines = append(lines, ": "+strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(e.Values), "map["), "]"))
		}
	case "none": // gone meanwhile
	default:
		t.Fatalf("%s is a %s", key, kind)
	}
	require.NoError(t, err)
	return lines
}

// To lists what has to go ("- line") and to come ("+ line") to make p into after.
func (p Picture) To(after Picture) []string {
	diff, fresh := []string{}, slices.Clone(after)
	for _, line := range p {
		if i := slices.Index(fresh, line); i >= 0 {
			fresh = slices.Delete(fresh, i, i+1)
		} else {
			diff = append(diff, "- "+line)
		}
	}
	for _, line := range fresh {
		diff = append(diff, "+ "+line)
	}
	return diff
}

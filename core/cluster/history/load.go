package history

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"strconv"
	"time"

	"drover/core"
)

// What hosts measure is kept for charts of the last hours: in each step one measure of each host, in documents that
// share the hosts among them. So it is at most loadShards × keepLoads / LoadStep documents of core.MaxBucketBytes,
// with 5,000 hosts some 60 of 1 MB in all.
const (
	LoadStep   = 2 * minute // ms
	keepLoads  = 2 * time.Hour
	loadShards = 16
	ofLoad     = "load-" // and the shard
)

// loadsOf returns the name of the documents that have a host's measures.
func loadsOf(host string) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(host))
	return ofLoad + strconv.Itoa(int(sum.Sum32()%loadShards))
}

// measures makes the buckets of what the hosts measured last.
func measures(hosts []core.HostInfo, now int64) ([]core.Bucket, error) {
	shards := make(map[string]map[string]core.HostMeasure)
	for i := range hosts {
		h := &hosts[i]
		if h.Load == nil {
			continue
		}
		name := loadsOf(h.Name)
		if shards[name] == nil {
			shards[name] = make(map[string]core.HostMeasure)
		}
		shards[name][h.Name] = *h.Load
	}
	all := make([]core.Bucket, 0, len(shards))
	for name, of := range shards {
		doc, err := json.Marshal(of)
		if err != nil {
			return nil, core.Wrap(err, core.CodeInternal, name, "what hosts measured cannot be written as JSON")
		}
		all = append(all, core.Bucket{Step: LoadStep, Name: name, At: floor(now, LoadStep), Doc: doc})
	}
	return all, nil
}

// ReadLoads returns what a host measured from a time until another one, oldest first, one of each two minutes.
func ReadLoads(ctx context.Context, store core.Counted, host string, from, until time.Time) ([]core.HostMeasure, error) {
	out := []core.HostMeasure{}
	err := each(ctx, store, LoadStep, loadsOf(host), floor(from.UnixMilli(), LoadStep), until.UnixMilli(), func(_ int64, of map[string]core.HostMeasure) {
		m, is := of[host]
		if is && (len(out) == 0 || m.At > out[len(out)-1].At) {
			out = append(out, m)
		}
	})
	return out, err
}

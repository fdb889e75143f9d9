package doctor

import (
	"context"
	"maps"
	"slices"

	"drover/cmd/drover/access"
)

// around reports what Redis is connected to, and whether another server could take over. Facts are the server's own
// report.
func (f *Findings) around(ctx context.Context, h *access.Cluster, facts map[string]string) error {
	its, err := h.Redis.Around(ctx)
	if err != nil {
		return err
	}
	followers := facts["connected_slaves"]
	switch its.Kind {
	case "sentinel":
		f.ok("redis sentinel", "%d Sentinels watch %s; its primary is %s, with %s replicas", its.Sentinels, its.Name, its.Primary, followers)
		for _, addr := range slices.Sorted(maps.Keys(its.Silent)) {
			f.warn("redis sentinel", "start it, or name those that there are in the Redis URL", "%s does not answer: %v", addr, its.Silent[addr])
		}
		if its.Quorum != nil {
			f.fail("redis sentinel", "start the missing Sentinels; an odd number of three or more is needed", "they could not choose another primary now: %v", its.Quorum)
		}
	case "cluster":
		f.ok("redis cluster", "%d shards; the keys are on the one of %s, with %s replicas", its.Shards, its.Primary, followers)
	default:
		return nil
	}
	if followers == "0" {
		f.warn("redis "+its.Kind, "start a replica of "+its.Primary, "no replica follows %s: nobody can take its place", its.Primary)
	}
	return nil
}

package doctor

import (
	"context"
	"maps"
	"slices"

	"drover/cmd/drover/access"
)

// around reports the Sentinels around Redis, and whether another server could take over. Facts are the server's own report.
func (f *Findings) around(ctx context.Context, h *access.Cluster, facts map[string]string) error {
	its, watched, err := h.Redis.Around(ctx)
	if err != nil || !watched {
		return err
	}
	followers := facts["connected_slaves"]
	f.ok("redis sentinel", "%d Sentinels watch %s; its primary is %s, with %s replicas", its.Sentinels, its.Name, its.Primary, followers)
	for _, addr := range slices.Sorted(maps.Keys(its.Silent)) {
		f.warn("redis sentinel", "start it, or name those that there are in the Redis URL", "%s does not answer: %v", addr, its.Silent[addr])
	}
	if its.Quorum != nil {
		f.fail("redis sentinel", "start the missing Sentinels; an odd number of three or more is needed", "they could not choose another primary now: %v", its.Quorum)
	}
	if followers == "0" {
		f.warn("redis sentinel", "start a replica of "+its.Primary, "no replica follows %s: nobody can take its place", its.Primary)
	}
	return nil
}

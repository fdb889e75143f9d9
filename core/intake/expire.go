package intake

import (
	"context"
	"fmt"
	"time"

	"drover/core"
)

func (in *Intake) expirePage(ctx context.Context, specs []core.Spec) (int, error) {
	pools, err := in.Store.Pools(ctx)
	if err != nil {
		return 0, err
	}
	most := make(map[string]time.Duration, len(pools))
	for _, p := range pools {
		most[p.Name] = p.MaxWait
	}
	now := in.now().UnixMilli()
	n := 0
	var troubles []error
	for _, spec := range specs {
		limit := most[spec.Pool]
		if limit == 0 || now-spec.Submitted <= limit.Milliseconds() {
			continue
		}
		reason := fmt.Sprintf("waited longer than pool %s allows (%s) without being run", spec.Pool, limit)
		result := in.end(spec, core.RequestTimedOut, core.BlamePlatform, reason)
		_, first, err := in.stop(ctx, spec, platform+": it waited too long", core.CancelWaiting, result)
		if err != nil {
			troubles = append(troubles, err)
		}
		if first {
			n++
		}
	}
	return n, gather("not all that waited too long could be ended", troubles...)
}

package drill

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"drover/core"
	"drover/core/service/clock"
)

// A crowd is so many submitters, who submit through so many clients.
const (
	crowdSize    = 2000
	crowdClients = 16
)

// Looks at the cluster, such as a page, a scrape of the metrics or an operator's list, cost no
// more where thousands wait: at most so many times what they cost before, and a bit. The
// machine may be busy, so the fastest of some counts.
const (
	looks     = 200
	dearer    = 3
	lookGrain = time.Millisecond
)

// crowd has thousands of submitters submit one request each, all at once, and looks what it
// costs to look. In the end they withdraw what still waits.
func crowd(ctx context.Context, h *cluster, _ fault) (func(context.Context) error, error) {
	begun := h.crowd.Add(crowdSize) - crowdSize
	accepted := make([]string, crowdSize)
	before := h.look(ctx, []string{newID()})
	each := func(do func(i int)) {
		var all sync.WaitGroup
		for client := range crowdClients {
			all.Go(func() {
				for i := client; i < crowdSize; i += crowdClients {
					do(i)
				}
			})
		}
		all.Wait()
	}
	each(func(i int) {
		if ctx.Err() != nil {
			return
		}
		spec := core.Spec{
			ID: newID(), Pool: poolNames[i%len(poolNames)], Priority: core.PriorityLow, Submitter: fmt.Sprintf("c%d", begun+int64(i)), Command: []string{"true"},
		}
		if _, _, err := h.client.Intake.Submit(ctx, spec); err == nil {
			accepted[i] = spec.ID
		}
	})
	h.watch.seen.slow(dearerLooks(before, h.look(ctx, accepted)))
	return func(ctx context.Context) error {
		var mu sync.Mutex
		var errs []error
		each(func(i int) {
			for accepted[i] != "" {
				_, err := h.client.Intake.Cancel(ctx, accepted[i], "drill")
				if err == nil || !core.Is(err, core.CodeUnavailable) {
					return // it waits no more, or has its end
				}
				if clock.Sleep(ctx, clock.Real{}, time.Second) != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
					return
				}
			}
		})
		return errors.Join(errs...)
	}, nil
}

// look asks what pages and scrapes ask, each so often, and returns the shortest time of each
// question that was answered.
func (h *cluster) look(ctx context.Context, ids []string) map[string]time.Duration {
	redis := h.client.Redis
	fastest := map[string]time.Duration{}
	for question, ask := range map[string]func(key string) error{
		"how much waits":                 func(string) error { _, err := redis.Waiting(ctx); return err },
		"how many come before a request": func(key string) error { _, _, err := redis.Preceding(ctx, key); return err },
		"where a request is":             func(key string) error { _, err := redis.Locate(ctx, key); return err },
	} {
		for n := range looks {
			begun := time.Now()
			if ask(core.Key(ids[len(ids)-1-n%len(ids)], 1)) != nil {
				continue
			}
			if took := time.Since(begun); fastest[question] == 0 || took < fastest[question] {
				fastest[question] = took
			}
		}
	}
	return fastest
}

// dearerLooks says which looks cost much more than before.
func dearerLooks(before, with map[string]time.Duration) []string {
	var all []string
	for question, took := range with {
		if most := dearer*before[question] + lookGrain; before[question] > 0 && took > most {
			all = append(all, fmt.Sprintf("with a crowd of %d submitters the fastest of %d looks at %s took %s, and %s before",
				crowdSize, looks, question, took.Round(10*time.Microsecond), before[question].Round(10*time.Microsecond)))
		}
	}
	return all
}

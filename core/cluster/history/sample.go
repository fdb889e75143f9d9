package history

import (
	"context"
	"encoding/json"

	"drover/core"
)

// The series of a sample, each with a name after the slash.
const (
	SeriesWaiting = "waiting" // pool → requests that wait
	SeriesVMs     = "vms"     // state → VMs
	SeriesHosts   = "hosts"   // state → hosts
	SeriesRunning = "running" // pool → VMs that are in use
)

// sample is what was measured at one moment, by series and name; of a longer step, the greatest value of each.
type sample map[string]int

// Sample measures the cluster, for the current minute, its ten minutes and its hour, and keeps what its hosts measured.
func (c Counter) Sample(ctx context.Context) error {
	hosts, err := c.Cluster.Hosts(ctx)
	if err != nil {
		return err
	}
	queues, err := c.Cluster.Waiting(ctx)
	if err != nil {
		return err
	}
	now, its := c.Now().UnixMilli(), measured(hosts, queues)
	for _, step := range []struct{ step, from int64 }{{minute, 0}, {tenMin, minute}, {hour, tenMin}} {
		at := floor(now, step.step)
		if step.from > 0 {
			its = sample{}
			if err := each(ctx, c.Store, step.from, ofSample, at, at+step.step, func(_ int64, of sample) { its.most(of) }); err != nil {
				return err
			}
		}
		doc, err := json.Marshal(its)
		if err != nil {
			return core.Wrap(err, core.CodeInternal, "", "a sample cannot be written as JSON")
		}
		if err := c.Store.PutBuckets(ctx, []core.Bucket{{Step: step.step, Name: ofSample, At: at, Doc: doc}}); err != nil {
			return err
		}
	}
	loads, err := measures(hosts, now)
	if err != nil {
		return err
	}
	return c.Store.PutBuckets(ctx, loads)
}

func measured(hosts []core.HostInfo, queues []core.QueueInfo) sample {
	its := sample{}
	for _, q := range queues {
		its[SeriesWaiting+"/"+q.Pool] += q.Waiting
	}
	for i := range hosts {
		its[SeriesHosts+"/"+string(hosts[i].State)]++
		for state, n := range hosts[i].VMs {
			its[SeriesVMs+"/"+state] += n
		}
		for pool, of := range hosts[i].VMsOf {
			its[SeriesRunning+"/"+pool] += of[core.VMClaimed]
		}
	}
	return its
}

// most takes the greater value of each.
func (s sample) most(of sample) {
	for name, n := range of {
		s[name] = max(s[name], n)
	}
}

package overseer

import (
	"context"
	"time"

	"drover/core"
)

// provider is the monitor that reads vmfactories' notes of their hosts: a host has failed if none of its providers
// could make VMs for a while, until one can again. If most hosts are like that, the cause is elsewhere, and taking
// all of them out would only stop what still runs there.
type provider struct {
	hosts core.Hosts
	now   func(context.Context) (time.Time, error) // the server's clock
}

// How often the notes are read, and how long a host's providers may be missing.
const (
	providerEvery = 5 * time.Second
	providerGrace = time.Minute
)

// Name implements Monitor.
func (p *provider) Name() string { return "provider" }

// Every implements Monitor.
func (p *provider) Every() time.Duration { return providerEvery }

// Look implements Monitor.
func (p *provider) Look(ctx context.Context, _ time.Duration) ([]News, error) {
	hosts, err := p.hosts.ListHosts(ctx)
	if err != nil {
		return nil, err
	}
	now, err := p.now(ctx)
	if err != nil {
		return nil, err
	}
	var failed, recovered []News
	alive := 0
	for _, h := range hosts {
		since, why := missing(h)
		mine := h.Failed != nil && h.Failed.By == p.Name()
		if h.State == core.HostUp || mine {
			alive++
		}
		switch {
		case mine && why == "":
			recovered = append(recovered, News{Host: h.Name, Kind: Recovered, By: p.Name(), Reason: "it can make VMs again", At: now.UnixMilli()})
		case mine, h.State == core.HostUp && h.Failed == nil && why != "" && now.Sub(since).Abs() >= providerGrace: // in the future: Redis' clock was set back
			failed = append(failed, News{Host: h.Name, Kind: Failed, By: p.Name(), Reason: why, At: now.UnixMilli()})
		}
	}
	if 2*len(failed) > alive {
		return recovered, nil
	}
	for _, n := range failed {
		if !marked(hosts, n.Host) {
			recovered = append(recovered, n)
		}
	}
	return recovered, nil
}

// marked reports whether a host is reported failed already.
func marked(hosts []core.HostInfo, name string) bool {
	for _, h := range hosts {
		if h.Name == name {
			return h.Failed != nil
		}
	}
	return false
}

// missing returns why no provider of a host can make VMs, and since when; "" if one can.
func missing(h core.HostInfo) (since time.Time, why string) {
	for _, p := range h.Providers {
		if p.Missing == "" {
			return time.Time{}, ""
		}
		if at := time.UnixMilli(p.Since); at.After(since) {
			since = at
		}
		why = p.Name + ": " + p.Missing
	}
	return since, why
}

// Done implements Monitor. The same news of a host is not reported again.
func (p *provider) Done(context.Context, News) error { return nil }

package overseer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"drover/core"
	"drover/core/service/script"
)

// command is the monitor that asks a program of the operator, which gets all hosts and says which of them have failed or
// recovered. It may mend what it finds as well, such as cut the power of a host that is down: a host that is lost or
// failed is given to it at each look, until it is up.
type command struct {
	hosts core.Hosts
	run   func(ctx context.Context, hosts []byte) ([]byte, error)
	now   func(context.Context) (time.Time, error) // the server's clock
}

// Bounds of that program.
const (
	commandEvery   = 30 * time.Second
	commandTimeout = 30 * time.Second
	commandOutput  = 1 << 20
	maxReason      = 300 // bytes
)

func newCommand(path string, hosts core.Hosts, now func(context.Context) (time.Time, error)) *command {
	s := script.Script{Path: path, Timeout: commandTimeout, Output: commandOutput}
	return &command{hosts: hosts, now: now, run: func(ctx context.Context, in []byte) ([]byte, error) { return s.Run(ctx, in) }}
}

// seenHost is what the program gets of a host, one JSON object in a line.
type seenHost struct {
	Host  string         `json:"host"`
	State core.HostState `json:"state"`
	Drain bool           `json:"drain"`
	By    string         `json:"failed_by,omitempty"` // who reported it failed
	Epoch int64          `json:"epoch"`               // another one: it came back since
}

// Name implements Monitor.
func (c *command) Name() string { return "command" }

// Every implements Monitor.
func (c *command) Every() time.Duration { return commandEvery }

// Look implements Monitor. The program says "failed HOST why" or "recovered HOST why", one in a line, and nothing of
// hosts that are as they were. What it said failed, only it takes back.
func (c *command) Look(ctx context.Context, _ time.Duration) ([]News, error) {
	hosts, err := c.hosts.ListHosts(ctx)
	if err != nil {
		return nil, err
	}
	now, err := c.now(ctx)
	if err != nil {
		return nil, err
	}
	var in bytes.Buffer
	lines := json.NewEncoder(&in)
	byName := make(map[string]*core.HostInfo, len(hosts))
	for i := range hosts {
		h := &hosts[i]
		byName[h.Name] = h
		seen := seenHost{Host: h.Name, State: h.State, Drain: h.Drain, Epoch: h.Epoch}
		if h.Failed != nil {
			seen.By = h.Failed.By
		}
		if err := lines.Encode(seen); err != nil {
			return nil, core.Wrap(err, core.CodeInternal, h.Name, "host %s cannot be written as JSON", h.Name)
		}
	}
	out, err := c.run(ctx, in.Bytes())
	if err != nil {
		return nil, err
	}
	var news []News
	for said := bufio.NewScanner(bytes.NewReader(out)); said.Scan(); {
		if strings.TrimSpace(said.Text()) == "" {
			continue
		}
		n, err := c.news(said.Text(), byName)
		if err != nil {
			return news, err
		}
		if n.Kind != "" {
			n.At = now.UnixMilli()
			news = append(news, n)
		}
	}
	return news, nil
}

// news reads one line; it is empty if the host is like that already.
func (c *command) news(line string, hosts map[string]*core.HostInfo) (News, error) {
	words := strings.SplitN(strings.TrimSpace(line), " ", 3)
	kind := Kind(words[0])
	if len(words) < 2 || kind != Failed && kind != Recovered {
		return News{}, core.Errorf(core.CodeInvalid, c.Name(), "the monitor's program says %.80q: it is to say \"failed HOST why\" or \"recovered HOST why\"", line)
	}
	h := hosts[words[1]]
	if h == nil {
		return News{}, core.Errorf(core.CodeInvalid, c.Name(), "the monitor's program names host %.80q, which is none", words[1])
	}
	mine := h.Failed != nil && h.Failed.By == c.Name()
	if kind == Failed && h.Failed != nil || kind == Recovered && !mine {
		return News{}, nil
	}
	n := News{Host: h.Name, Kind: kind, By: c.Name(), Reason: "the monitor's program says so"}
	if len(words) == 3 {
		n.Reason = core.OneLine(words[2], maxReason)
	}
	return n, nil
}

// Done implements Monitor. The same news of a host is not reported again.
func (c *command) Done(context.Context, News) error { return nil }

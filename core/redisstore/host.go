package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// ListHosts implements core.Hosts.
func (s *Store) ListHosts(ctx context.Context) ([]core.HostInfo, error) {
	due, err := s.db.ZRangeWithScores(ctx, s.space.Key("hosts"), 0, -1).Result()
	if err != nil {
		return nil, fault(ctx, err, "")
	}
	owners, err := s.ListOwners(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]core.HostInfo, len(due))
	for i, z := range due {
		h := &out[i]
		h.Name, h.Deadline = str(z.Member), int64(z.Score)
		f, err := s.db.HGetAll(ctx, s.space.Key("host", h.Name)).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, fault(ctx, err, h.Name)
		}
		h.State, h.Drain, h.Epoch = core.HostState(f["state"]), f["drain"] == "1", num(f["epoch"])
		h.CPU, h.Memory = int(num(f["cpu"])), num(f["memory"])
		h.Ready = f["incarnation"] == s.incarnation()
		if text := f["broken"]; text != "" && h.State != core.HostDown { // down, nobody tries any more
			if err := json.Unmarshal([]byte(text), &h.Broken); err != nil {
				return nil, core.Wrap(err, core.CodeInternal, h.Name, "what Redis has of the broken pools of host %s is not readable", h.Name)
			}
		}
		if text := f["fetching"]; text != "" && h.State != core.HostDown {
			if err := json.Unmarshal([]byte(text), &h.Fetching); err != nil {
				return nil, core.Wrap(err, core.CodeInternal, h.Name, "what Redis has of what host %s fetches is not readable", h.Name)
			}
		}
		if text := f["providers"]; text != "" {
			if err := json.Unmarshal([]byte(text), &h.Providers); err != nil {
				return nil, core.Wrap(err, core.CodeInternal, h.Name, "what Redis has of the providers of host %s is not readable", h.Name)
			}
		}
		for _, o := range owners {
			if o.Host == h.Name {
				h.Owners = append(h.Owners, o.Name)
			}
		}
		vms, err := s.ListVMs(ctx, h.Name)
		if err != nil {
			return nil, err
		}
		h.VMs = make(map[string]int)
		for _, vm := range vms {
			h.VMs[string(vm.State)]++
		}
	}
	slices.SortFunc(out, func(a, b core.HostInfo) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Drain implements core.Hosts.
func (s *Store) Drain(ctx context.Context, host string, on bool) error {
	_, err := s.run(ctx, "host_drain", host, host, flag(on))
	return err
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

// Judge implements core.Hosts.
func (s *Store) Judge(ctx context.Context, suspect, down time.Duration) ([]string, error) {
	reply, err := s.run(ctx, "host_judge", "", suspect.Milliseconds(), down.Milliseconds(), served{s: s, since: true})
	return strs(reply), err
}

// Down implements core.Hosts.
func (s *Store) Down(ctx context.Context, host string, down time.Duration) error {
	_, err := s.run(ctx, "host_down", host, host, down.Milliseconds())
	return err
}

// ForgetHost implements core.Hosts.
func (s *Store) ForgetHost(ctx context.Context, host string) error {
	_, err := s.run(ctx, "host_forget", host, host)
	return err
}

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
		h.CPU, h.Memory, h.Disk = int(num(f["cpu"])), num(f["memory"]), num(f["disk"])
		h.DrainUntil, h.Probations = num(f["drain_until"]), int(num(f["probations"]))
		h.Failed, h.Probation = toFailed(h.Name, f["failed"]), toProbation(f)
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
		h.VMs, h.VMsOf = make(map[string]int), make(map[string]map[core.VMState]int)
		for _, vm := range vms {
			h.VMs[string(vm.State)]++
			if h.VMsOf[vm.Pool] == nil {
				h.VMsOf[vm.Pool] = make(map[core.VMState]int)
			}
			h.VMsOf[vm.Pool][vm.State]++
		}
	}
	slices.SortFunc(out, func(a, b core.HostInfo) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// toFailed reads who reported a host as failed; nil of nothing.
func toFailed(host, text string) *core.HostReport {
	parts := strings.SplitN(text, "|", 3)
	if len(parts) < 3 {
		return nil
	}
	return &core.HostReport{Host: host, Event: core.HostFailed, At: num(parts[0]), By: parts[1], Reason: parts[2]}
}

// toProbation reads a host's probation; nil if it is on none.
func toProbation(host map[string]string) *core.Probation {
	parts := strings.SplitN(host["probation"], "|", 5)
	if len(parts) < 5 {
		return nil
	}
	canary, _, _ := strings.Cut(host["canary"], "|")
	return &core.Probation{
		Until: num(parts[0]), Good: int(num(parts[1])), Needed: int(num(parts[2])), Reason: parts[4],
		Times: int(num(host["probations"])), Canary: canary,
	}
}

// Drain implements core.Hosts.
func (s *Store) Drain(ctx context.Context, host string, on bool, deadline time.Duration) error {
	_, err := s.run(ctx, "host_drain", host, host, flag(on), deadline.Milliseconds())
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

// Report implements core.Hosts.
func (s *Store) Report(ctx context.Context, r core.HostReport) error {
	if err := checkReport(r); err != nil {
		return err
	}
	_, err := s.run(ctx, "host_report", r.Host, r.Host, string(r.Event), name(r.By), oneLine(r.Reason))
	return err
}

func checkReport(r core.HostReport) error {
	if r.Event != core.HostFailed && r.Event != core.HostRecovered {
		return core.Errorf(core.CodeInvalid, r.Host, "%q is nothing to report of a host: use %s or %s", r.Event, core.HostFailed, core.HostRecovered)
	}
	return core.CheckName("host", r.Host)
}

// name is who reports, as records hold it: one word without their separator.
func name(by string) string {
	return strings.NewReplacer("|", "-", " ", "-").Replace(oneLine(by))
}

// Probation implements core.Hosts.
func (s *Store) Probation(ctx context.Context, host, reason string, delay time.Duration, needed int) error {
	_, err := s.run(ctx, "host_probation", host, host, oneLine(reason), delay.Milliseconds(), max(needed, 1))
	return err
}

// ForgetHost implements core.Hosts.
func (s *Store) ForgetHost(ctx context.Context, host string) error {
	_, err := s.run(ctx, "host_forget", host, host)
	return err
}

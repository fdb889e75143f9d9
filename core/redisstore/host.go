package redisstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// hostsAtOnce bounds the hosts that are read in one round trip.
const hostsAtOnce = 256

// hostNames are the hosts and what is known of all of them.
type hostNames struct {
	due    []redis.Z           // hosts by their next heartbeat
	owners map[string][]string // by host
	within int64               // time within which hosts measure, ms
	now    time.Time           // by the server's clock
}

func (s *Store) hostNames(ctx context.Context) (hostNames, error) {
	var due *redis.ZSliceCmd
	var owners *redis.ZSliceCmd
	var now *redis.TimeCmd
	var within *redis.StringCmd
	_, err := s.db.Pipelined(ctx, func(p redis.Pipeliner) error {
		due, owners = p.ZRangeWithScores(ctx, s.space.Key("hosts"), 0, -1), p.ZRangeWithScores(ctx, s.space.Key("owners"), 0, -1)
		now, within = p.Time(ctx), p.HGet(ctx, s.space.Key("meta"), "load_age")
		return nil
	})
	if err != nil && err != redis.Nil { //nolint:errorlint // it comes as it is: no host has measured anything
		return hostNames{}, fault(ctx, err, "")
	}
	all := hostNames{due: due.Val(), within: num(within.Val()), now: now.Val()}
	known := make(map[string]bool, len(all.due))
	for _, z := range all.due {
		known[str(z.Member)] = true
	}
	names := make([]string, len(owners.Val()))
	for i, z := range slices.Backward(owners.Val()) { // the one due last first
		names[i] = str(z.Member)
		if _, host, err := core.ParseOwner(names[i]); err == nil && !known[host] { // until a consistency check lists it again
			known[host], all.due = true, append(all.due, redis.Z{Score: z.Score, Member: host})
		}
	}
	all.owners = ownersByHost(names)
	return all, nil
}

// ListHosts implements core.Hosts, in one round trip for the names, and one for every hostsAtOnce hosts.
func (s *Store) ListHosts(ctx context.Context) ([]core.HostInfo, error) {
	all, err := s.hostNames(ctx)
	if err != nil {
		return nil, err
	}
	out, served := make([]core.HostInfo, 0, len(all.due)), make(map[string][]string)
	for some := range slices.Chunk(all.due, hostsAtOnce) {
		facts, held := make([]*redis.MapStringStringCmd, len(some)), make([]vmPlaces, len(some))
		if err := s.pipelined(ctx, len(some), func(p redis.Pipeliner, i int) {
			host := str(some[i].Member)
			facts[i], held[i] = p.HGetAll(ctx, s.space.Key("host", host)), s.placesOf(ctx, p, host, all.owners[host])
		}); err != nil {
			return nil, err
		}
		for i, z := range some {
			h, err := s.toHost(str(z.Member), facts[i].Val(), served)
			if err != nil {
				return nil, err
			}
			h.Deadline, h.Owners = int64(z.Score), all.owners[h.Name]
			if h.Load, err = toLoad(&h, facts[i].Val(), all.within, all.now); err != nil {
				return nil, err
			}
			held[i].count(&h)
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b core.HostInfo) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// RemovedHosts implements core.Hosts: the epoch of a host that was removed is still there.
func (s *Store) RemovedHosts(ctx context.Context, hosts []string) (map[string]bool, error) {
	out := make(map[string]bool)
	if len(hosts) == 0 {
		return out, nil
	}
	fields := make([]string, len(hosts))
	for i, host := range hosts {
		fields[i] = "host:" + host
	}
	epochs, err := s.db.HMGet(ctx, s.space.Key("epochs"), fields...).Result()
	if err != nil {
		return nil, fault(ctx, err, "")
	}
	all, err := s.hostNames(ctx)
	if err != nil {
		return nil, err
	}
	for i, host := range hosts {
		out[host] = epochs[i] != nil && !slices.ContainsFunc(all.due, func(z redis.Z) bool { return str(z.Member) == host })
	}
	return out, nil
}

// Capacities implements core.Pools.
func (s *Store) Capacities(ctx context.Context) (map[string]core.Size, error) {
	names, err := s.db.ZRange(ctx, s.space.Key("hosts"), 0, -1).Result()
	if err != nil {
		return nil, fault(ctx, err, "")
	}
	out := make(map[string]core.Size, len(names))
	for some := range slices.Chunk(names, hostsAtOnce) {
		facts := make([]*redis.SliceCmd, len(some))
		if err := s.pipelined(ctx, len(some), func(p redis.Pipeliner, i int) {
			facts[i] = p.HMGet(ctx, s.space.Key("host", some[i]), "cpu", "memory", "disk", "settings")
		}); err != nil {
			return nil, err
		}
		for i, host := range some {
			f := facts[i].Val()
			h := core.HostInfo{CPU: int(num(f[0])), Memory: num(f[1]), Disk: num(f[2])}
			if err := readNote(host, "settings", str(f[3]), &h.Settings); err != nil {
				return nil, err
			}
			out[host] = h.Capacity()
		}
	}
	return out, nil
}

// toHost reads Redis' record of a host itself. Served has lists of pools that were read, by their texts: most hosts serve
// the same pools, and reading a thousand of them for each of a thousand hosts would take longer than all else.
func (s *Store) toHost(name string, f map[string]string, served map[string][]string) (core.HostInfo, error) {
	h := core.HostInfo{
		Name: name, State: core.HostState(f["state"]), Drain: f["drain"] == "1", Epoch: num(f["epoch"]),
		CPU: int(num(f["cpu"])), Memory: num(f["memory"]), Disk: num(f["disk"]), MaxVMs: int(num(f["max_vms"])),
		DrainUntil: num(f["drain_until"]), DrainWithin: time.Duration(num(f["drain_within"])) * time.Millisecond, Probations: int(num(f["probations"])),
		Failed: toFailed(name, f["failed"]), Probation: toProbation(f), Ready: f["incarnation"] == s.incarnation(), Wished: f["wished"] == s.incarnation(),
	}
	if h.State == core.HostDown { // down: it makes and fetches nothing
		f["broken"], f["fetching"] = "", ""
	}
	for what, into := range map[string]any{
		"broken": &h.Broken, "fetching": &h.Fetching, "providers": &h.Providers, "settings": &h.Settings,
		"targets": &h.Targets, "takes": &h.Takes,
	} {
		if err := readNote(name, what, f[what], into); err != nil {
			return h, err
		}
	}
	for _, word := range strings.Fields(f["broken_since"]) {
		if pool, since, ok := strings.Cut(word, ":"); ok && h.Broken[pool] != "" {
			if h.BrokenSince == nil {
				h.BrokenSince = make(map[string]int64)
			}
			h.BrokenSince[pool] = num(since)
		}
	}
	text := f["serves"]
	if _, known := served[text]; !known {
		var pools []string
		if err := readNote(name, "serves", text, &pools); err != nil {
			return h, err
		}
		served[text] = pools
	}
	h.Serves = slices.Clip(served[text])
	return h, nil
}

// toLoad reads what was measured of a host; nil if the host is down or has not measured for long.
func toLoad(h *core.HostInfo, f map[string]string, within int64, now time.Time) (*core.HostMeasure, error) {
	if f["load"] == "" || h.State == core.HostDown {
		return nil, nil
	}
	m := &core.HostMeasure{}
	if err := readNote(h.Name, "load", f["load"], m); err != nil {
		return nil, err
	}
	m.At, m.Within = num(f["load_at"]), within
	if !m.Current(now) {
		return nil, nil
	}
	return m, nil
}

// readNote reads one field of a host's record, which may be "".
func readNote(host, field, text string, into any) error {
	if text == "" {
		return nil
	}
	err := json.Unmarshal([]byte(text), into)
	return core.Wrap(err, core.CodeInternal, host, "what Redis has of host %s under %s is not readable", host, field)
}

// toFailed reads the report that a host failed; nil if there is none.
func toFailed(host, text string) *core.HostReport {
	r := readRecord("failed", text)
	if r == nil {
		return nil
	}
	return &core.HostReport{Host: host, Event: core.HostFailed, At: num(r["at"]), By: r["by"], Reason: r["why"]}
}

// toProbation reads a host's probation; nil if there is none.
func toProbation(host map[string]string) *core.Probation {
	r := readRecord("probation", host["probation"])
	if r == nil {
		return nil
	}
	return &core.Probation{
		Until: num(r["from"]), Good: int(num(r["good"])), Needed: int(num(r["needed"])), Reason: r["why"],
		Times: int(num(host["probations"])), Canary: readRecord("canary", host["canary"])["key"],
	}
}

// Drain implements core.Hosts.
func (s *Store) Drain(ctx context.Context, host string, on bool, deadline time.Duration) error {
	_, err := s.run(ctx, "host_drain", host, host, flag(on), deadline.Milliseconds())
	return err
}

// SetHost implements core.Hosts.
func (s *Store) SetHost(ctx context.Context, host string, settings core.HostSettings) error {
	if err := cmp.Or(core.CheckName("host", host), settings.Check(host)); err != nil {
		return err
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return core.Wrap(err, core.CodeInternal, host, "the settings of host %s cannot be written as JSON", host)
	}
	_, err = s.run(ctx, "host_set", host, host, text)
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
func (s *Store) Report(ctx context.Context, r core.HostReport) (bool, error) {
	if err := checkReport(r); err != nil {
		return false, err
	}
	reply, err := s.run(ctx, "host_report", r.Host, r.Host, string(r.Event), name(r.By), oneLine(r.Reason), r.ID)
	return err == nil && num(str(reply)) == 1, err
}

func checkReport(r core.HostReport) error {
	if r.Event != core.HostFailed && r.Event != core.HostRecovered {
		return core.Errorf(core.CodeInvalid, r.Host, "%q is nothing to report of a host: use %s or %s", r.Event, core.HostFailed, core.HostRecovered)
	}
	return core.CheckName("host", r.Host)
}

// name makes the reporter's name fit for records: one word without their separator.
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

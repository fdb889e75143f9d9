package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/docker/go-units"

	"drover/cmd/drover/access"
	"drover/cmd/drover/operator"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/cluster/operate"
)

// owners checks the components of the cluster.
func (f *Findings) owners(ctx context.Context, h *access.Cluster) error {
	owners, err := h.Redis.ListOwners(ctx)
	if err != nil {
		return err
	}
	versions := map[string][]string{}
	for _, o := range owners {
		versions[o.Version] = append(versions[o.Version], o.Name)
		if o.Late {
			f.warn("owner "+o.Name, "start it again, or let an overseer reap it: drover overseer --once", "its heartbeat is late")
		}
	}
	f.Versions(versions)
	return nil
}

// warnings reports why work waits, as the site does.
func (f *Findings) warnings(ctx context.Context, h *access.Cluster) error {
	v, err := h.Operate().Overview(ctx, access.Operator())
	if err != nil {
		return err
	}
	overseen, err := h.Redis.Overseen(ctx)
	if err != nil {
		return err
	}
	pools := make(map[string]core.Pool, len(v.Pools))
	for _, p := range v.Pools {
		pools[p.Name] = p
	}
	for _, w := range v.Warnings {
		about := "pool " + w.Pool
		switch w.Kind {
		case operate.WarnMissing:
			f.missing(w.Role, overseen)
		case operate.WarnAway:
			f.fail(about, "drover host undrain HOST lets a drained one work again; start what is down", "%s, and no host takes its work: %s", waiting(w.Waiting), away(w))
		case operate.WarnUnmade:
			f.fail(about, "name it with --pools of a vmfactory, or give a host the labels that it requires", "%s, and no host makes its VMs", waiting(w.Waiting))
		case operate.WarnPaused:
			f.warn(about, "drover pool set --paused=false "+w.Pool, "is paused, and %s", waiting(w.Waiting))
		case operate.WarnBroken:
			f.fail(about, "mend what its hosts report; drover pool set --paused "+w.Pool+" lets its requests wait until then",
				"for %s no host could make its VMs; %s", strings.ToLower(units.HumanDuration(w.Outage.Lasted)), operator.Fails(pools[w.Pool], *w.Outage))
		}
	}
	return nil
}

func waiting(n int) string {
	switch n {
	case 0:
		return "no request waits"
	case 1:
		return "1 request waits"
	}
	return fmt.Sprintf("%d requests wait", n)
}

// away names the hosts of a warning.
func away(w operate.Warning) string {
	var all []string
	for _, h := range w.Away {
		if h.State == core.HostDown {
			all = append(all, h.Host+" is down")
		} else {
			all = append(all, h.Host+" is drained")
		}
	}
	if w.More > 0 {
		all = append(all, fmt.Sprintf("and %d more", w.More))
	}
	return strings.Join(all, ", ")
}

// missing reports a role that no living process has.
func (f *Findings) missing(role core.Role, overseen core.Overseen) {
	about := string(role)
	switch {
	case role == core.RoleTaskrunner:
		f.fail(about, "start one: drover taskrunner, or drover up", "none is running: archives, gradebooks, deletions and webhooks wait")
	case role == core.RoleOverseer && overseen.At > 0:
		f.fail(about, "start one: drover overseer, or run scripts/overseer-cron every minute", "none has been at work for some minutes, the last one %s: what a lost host held stays there, and nothing is swept or purged", terminal.Since(overseen.At))
	case role == core.RoleOverseer:
		f.fail(about, "start one: drover overseer, or run scripts/overseer-cron every minute", "none was ever at work here: what a lost host holds stays there, and nothing is swept or purged")
	default:
		f.fail(about, "start one: drover "+about+", or drover up", "none is running")
	}
}

// Versions checks that all owners, and this program, have one version.
func (f *Findings) Versions(owners map[string][]string) {
	if len(owners) == 0 || len(owners) == 1 && owners[access.Version] != nil {
		return
	}
	const named = 3
	var parts []string
	for _, v := range slices.Sorted(maps.Keys(owners)) {
		names := owners[v]
		text := terminal.Clean(v) + ": " + strings.Join(names[:min(named, len(names))], " ")
		if len(names) > named {
			text += fmt.Sprintf(" and %d more", len(names)-named)
		}
		parts = append(parts, text)
	}
	f.warn("versions", "restart the older ones with the newer program", "this program is %s, owners are %s", access.Version, strings.Join(parts, "; "))
}

// hosts checks that hosts take work.
func (f *Findings) hosts(ctx context.Context, h *access.Cluster) error {
	hosts, err := h.Redis.ListHosts(ctx)
	if err != nil {
		return err
	}
	pools, err := h.Redis.ListPools(ctx)
	if err != nil {
		return err
	}
	for _, host := range hosts {
		about, late := "host "+host.Name, h.Now().Sub(time.UnixMilli(host.Deadline))
		for _, pool := range slices.Sorted(maps.Keys(host.Fetching)) {
			f.warn(about, "wait until it is there", "makes no VMs of pool %s yet: %s", pool, host.Fetching[pool])
		}
		for _, pool := range slices.Sorted(maps.Keys(host.Broken)) {
			f.fail(about, "mend that; its vmfactory tries again by itself, and its log says more", "cannot make VMs of pool %s: %s", pool, host.Broken[pool])
		}
		for _, p := range host.Providers {
			f.SelfTest(about, p, slices.ContainsFunc(pools, func(pool core.Pool) bool { return pool.Provider == p.Name }))
		}
		f.probation(about, host)
		switch {
		case host.Failed != nil:
			f.fail(about, "mend it, then drover host report "+host.Name+" recovered",
				"%s reported %s that it failed%s", terminal.Clean(host.Failed.By), terminal.Since(host.Failed.At), terminal.Prefixed(": ", terminal.Clean(host.Failed.Reason)))
		case host.State != core.HostUp:
			f.warn(about, "see whether the machine is alive; drover host forget removes one for good", "is %s", host.State)
		case late > 2*h.Config.Down:
			f.warn(about, "start an overseer, or do its work once: drover overseer --once",
				"its heartbeat is late by %s, and no overseer has judged it", late.Round(time.Second))
		case !runsJobs(host):
			f.ok(about, "up; it runs no jobs: it has neither a vmfactory nor a testrunner")
		case !host.Ready:
			f.warn(about, "its vmfactory does so by itself; is it running?", "has not reconciled with this Redis yet and takes no work")
		case host.Drain:
			f.warn(about, "drover host undrain "+host.Name, "is drained%s", operator.DrainDeadline(host.DrainUntil))
		default:
			f.ok(about, "up; VMs: %s", cmp.Or(operator.Counts(host.VMs), "none"))
		}
	}
	return nil
}

// runsJobs reports whether a host has a vmfactory or a testrunner. One that has only others is no host of VMs.
func runsJobs(host core.HostInfo) bool {
	return slices.ContainsFunc(host.Owners, func(owner string) bool {
		role, _, _ := strings.Cut(owner, "@")
		return role == string(core.RoleVMFactory) || role == string(core.RoleTestrunner)
	})
}

// probation reports a host on probation.
func (f *Findings) probation(about string, host core.HostInfo) {
	if p := host.Probation; p != nil {
		f.warn(about, "it ends by itself when its work goes well; drover host trust "+host.Name+" ends it now",
			"is on probation: %s; %d of %d requests in a row succeeded", terminal.Clean(p.Reason), p.Good, p.Needed)
	}
}

// SelfTest checks a host's notes on a provider; a failure does not matter if no pool needs the provider.
func (f *Findings) SelfTest(about string, p core.ProviderNote, needed bool) {
	t := p.SelfTest
	switch {
	case p.Missing != "" || t == nil && (len(p.Limits) == 0 || !needed):
		return // its broken pools report why, if there are any
	case t == nil:
		f.warn(about, "start its vmfactory with --self-test on", "never heard that VMs of provider %s hold what they must", p.Name)
	case t.Verdict() == core.VerdictFail:
		f.fail(about, "see drover host show; mend it, and its vmfactory tests again by itself", "failed the self-test of provider %s: %s", p.Name, t.Reason())
	case t.Verdict() == core.VerdictWeak:
		f.warn(about, "see drover host show, and run the vmfactory as root or in a delegated cgroup", "passed the self-test of provider %s, but not firmly: %s", p.Name, t.Reason())
	default:
		f.ok(about, "passed the self-test of provider %s", p.Name)
	}
}

// pools checks that there are pools, and their images.
func (f *Findings) pools(ctx context.Context, h *access.Cluster) error {
	pools, err := h.Redis.ListPools(ctx)
	if err != nil {
		return err
	}
	for _, p := range pools {
		if err := f.image(ctx, h, p); err != nil {
			return err
		}
	}
	if len(pools) == 0 {
		f.warn("pools", "drover pool set "+access.DefaultPool, "there is none, so nothing can be submitted")
	}
	return nil
}

// image checks that a pool's image exists.
func (f *Findings) image(ctx context.Context, h *access.Cluster, p core.Pool) error {
	if p.Image == "" {
		return nil
	}
	about, mend := "pool "+p.Name, "drover image build or drover image import makes it; drover pool set "+p.Name+" --image NAME takes another"
	image, err := h.Store.GetImage(ctx, p.Image)
	if core.Is(err, core.CodeNotFound) || core.Is(err, core.CodeInvalid) {
		f.fail(about, mend, "its image %s is not there", p.Image)
		return nil
	}
	if err != nil {
		return err
	}
	file, err := h.Blobs.Open(ctx, image.Digest)
	if core.Is(err, core.CodeNotFound) {
		f.fail(about, mend, "the file of its image %s is not in the blob store", p.Image)
		return nil
	}
	if err != nil {
		return err
	}
	f.ok(about, "its image %s is %s", image.Name, operator.ShortDigest(image.Digest))
	return file.Close()
}

// ledger checks that the cluster has its stores, and shows them.
func (f *Findings) ledger(ctx context.Context, h *access.Cluster) error {
	its, err := h.Redis.Ledger(ctx)
	if err != nil {
		return err
	}
	for _, one := range []struct{ about, what, id string }{
		{"ledger", "result store", its.Results}, {"cluster's files", "blob store", its.Blobs},
	} {
		if one.id == "" {
			f.warn(one.about, "start a component: the first one says it", "the cluster does not know its %s yet", one.what)
			continue
		}
		f.ok(one.about, "the cluster's %s is this one, its id is %s", one.what, one.id)
	}
	return nil
}

// missingFiles checks that files that the result store names are there.
func (f *Findings) missingFiles(ctx context.Context, h *access.Cluster) error {
	missing, looked, err := h.FindMissingFiles(ctx)
	if core.Is(err, core.CodeUnavailable) {
		return nil // which is said of the blob store
	}
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		f.fail("files", "put them back from a backup of the blob store; drover request rerun then runs what failed without them",
			"%d of the %d looked for are not in the blob store, such as %s: it was set back to an older copy, or lost them", len(missing), looked, operator.ShortDigest(missing[0]))
		return nil
	}
	f.ok("files", "the %d looked for are in the blob store", looked)
	return nil
}

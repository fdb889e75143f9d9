package operator

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/cluster/lease"
)

// texts are the values of a flag that may be given more than once, with commas in them.
type texts []string

// Set adds a value.
func (t *texts) Set(value string) error {
	*t = append(*t, value)
	return nil
}

// String joins the values.
func (t *texts) String() string { return strings.Join(*t, "; ") }

// leaseFlags are what a lease is made or changed by.
func leaseFlags() []cli.Flag {
	const moment = `such as "2026-12-01 14:00", 2026-12-01T14:00:00Z, +90m or +2d`
	return []cli.Flag{
		&cli.StringFlag{Name: "name", Usage: "its `NAME`, for people"},
		&cli.StringFlag{Name: "class", Usage: "the tests of submissions to `CLASS` use it"},
		&cli.StringSliceFlag{Name: "submitter", Usage: "requests of the user `NAME` use it; repeatable; the list replaces the former one"},
		&cli.StringFlag{Name: "start", DefaultText: "now", Usage: "it starts at `TIME`, now or " + moment},
		&cli.StringFlag{Name: "end", Usage: "it ends at `TIME`, " + moment},
		&cli.DurationFlag{Name: "for", Usage: "it ends `TIME` after its start, such as 2h, in place of --end"},
		&cli.DurationFlag{Name: "before-end", Usage: "give notice `TIME` before its end, such as 30m; 0 is none"},
		&cli.DurationFlag{Name: "grace", Usage: "what runs at its end may go on for `TIME`; then it runs again elsewhere"},
		&cli.GenericFlag{Name: "units", Value: &texts{}, Usage: "reserve `POOL=N`, that many VMs of a pool; repeatable; 'python=30 apart requires=zone=a' says more of one"},
		&cli.GenericFlag{Name: "hosts", Value: &texts{}, Usage: "reserve `MIN-MAX` whole hosts, for the pools of --pools; repeatable, as '2-4 pools=python,c requires=gpu=yes'"},
		&cli.StringFlag{Name: "pools", Usage: "the pools whose VMs run on the whole hosts: `POOLS` such as python,c"},
		&cli.StringFlag{Name: "affinity", Usage: "where the units of a pool are: `HOW` any, together (all on one host) or apart (each on another host)"},
		&cli.StringFlag{Name: "requires", Usage: "only hosts with `LABELS`, such as zone=a,gpu!=no,cores>=8"},
		&cli.StringSliceFlag{Name: "notify", Usage: "tell the webhook `ID` what happens to it; repeatable; those of its class are told too"},
		utcFlag(),
	}
}

// leaseMoment reads a flag of time; "now" is 0.
func leaseMoment(c *cli.Context, name string) (int64, error) {
	if strings.TrimSpace(c.String(name)) == "now" {
		return 0, nil
	}
	var ms int64
	if err := terminal.MomentFlag(c, name, &ms); err != nil {
		return 0, err
	}
	if ms == 0 && c.IsSet(name) {
		return 0, core.Errorf(core.CodeInvalid, name, "--%s needs a time: a lease has one", name)
	}
	return wholeMinute(ms), nil
}

// leaseEnd returns the end that the flags name; 0 if none does. Start is the lease's, 0 is now.
func leaseEnd(c *cli.Context, start int64) (int64, error) {
	if c.IsSet("end") && c.IsSet("for") {
		return 0, core.Errorf(core.CodeInvalid, "for", "--end and --for both say when the lease ends: leave one of them out")
	}
	if !c.IsSet("for") {
		end, err := leaseMoment(c, "end")
		if err == nil && end == 0 && c.IsSet("end") {
			end = wholeMinute(time.Now().UnixMilli())
		}
		return end, err
	}
	if start == 0 {
		start = time.Now().UnixMilli()
	}
	return wholeMinute(start + c.Duration("for").Milliseconds()), nil
}

// leaseDraft returns the lease that the flags describe.
func leaseDraft(c *cli.Context) (lease.Draft, error) {
	d := lease.Draft{
		Name: c.String("name"), Class: c.String("class"), Submitters: given(c, "submitter"), BeforeEnd: c.Duration("before-end"), Grace: c.Duration("grace"),
		Notify: given(c, "notify"),
	}
	if err := terminal.NoArgs(c); err != nil {
		return d, err
	}
	if d.Name == "" {
		return d, core.Errorf(core.CodeInvalid, "name", "what is the lease for? Name it with --name")
	}
	if _, err := terminal.Zone(c); err != nil { // also where all times are relative
		return d, err
	}
	var err error
	if d.Start, err = leaseMoment(c, "start"); err == nil {
		d.End, err = leaseEnd(c, d.Start)
	}
	if err == nil && d.End == 0 {
		err = core.Errorf(core.CodeInvalid, "end", "when does it end? Say --for 2h, or --end and a time")
	}
	if err == nil {
		d.Reservations, err = wants(c)
	}
	if err == nil && len(d.Reservations) == 0 {
		err = core.Errorf(core.CodeInvalid, "units", "what is reserved? Say --units POOL=N, or --hosts MIN-MAX --pools POOLS")
	}
	return d, err
}

// given is a list that a flag gives, without empty texts.
func given(c *cli.Context, name string) []string {
	return slices.DeleteFunc(c.StringSlice(name), func(s string) bool { return s == "" })
}

// leaseChange returns what the flags change of a lease.
func leaseChange(c *cli.Context, l *core.Lease) (lease.Change, error) {
	var change lease.Change
	for name, into := range map[string]**string{"name": &change.Name, "class": &change.Class} {
		if c.IsSet(name) {
			text := c.String(name)
			*into = &text
		}
	}
	for name, into := range map[string]**[]string{"submitter": &change.Submitters, "notify": &change.Notify} {
		if c.IsSet(name) {
			list := terminal.OrEmpty(given(c, name))
			*into = &list
		}
	}
	for name, into := range map[string]**time.Duration{"before-end": &change.BeforeEnd, "grace": &change.Grace} {
		if c.IsSet(name) {
			d := c.Duration(name)
			*into = &d
		}
	}
	start := l.Start
	if c.IsSet("start") {
		ms, err := leaseMoment(c, "start")
		if err != nil {
			return change, err
		}
		change.Start, start = &ms, ms
	}
	end, err := leaseEnd(c, start)
	if err != nil {
		return change, err
	}
	if end != 0 {
		change.End = &end
	}
	asked, err := wants(c)
	if err == nil && len(asked) > 0 {
		all := merged(l, asked)
		change.Reservations = &all
	}
	if err == nil && change == (lease.Change{}) {
		err = core.Errorf(core.CodeInvalid, l.ID, "nothing is to be changed: name it with a flag, see %s --help", c.Command.HelpName)
	}
	return change, err
}

// merged puts what is wanted in place of the reservations of the same pools, or after all of them.
func merged(l *core.Lease, asked []lease.Want) []lease.Want {
	all := make([]lease.Want, 0, len(l.Reservations)+len(asked))
	for _, r := range l.Reservations {
		if r.State == core.ReservationDeleted { // they come last
			break
		}
		all = append(all, lease.Want{Pools: r.Pools, Units: r.Units, Affinity: r.Affinity, MinHosts: r.MinHosts, MaxHosts: r.MaxHosts, Requires: r.Requires})
	}
	for _, w := range asked {
		i := slices.IndexFunc(all, func(was lease.Want) bool { return slices.Equal(was.Pools, w.Pools) && (was.Units > 0) == (w.Units > 0) })
		if i < 0 {
			all = append(all, w)
			continue
		}
		if w.Requires == "" {
			w.Requires = all[i].Requires
		}
		if w.Affinity == "" {
			w.Affinity = all[i].Affinity
		}
		all[i] = w
	}
	return all
}

// wants returns the reservations that the flags describe.
func wants(c *cli.Context) ([]lease.Want, error) {
	var all []lease.Want
	affinity, err := affinityOf(c.String("affinity"))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"units", "hosts"} {
		values, _ := c.Generic(name).(*texts)
		if values == nil {
			continue
		}
		for _, value := range *values {
			w := lease.Want{Affinity: affinity, Requires: c.String("requires")}
			if name == "hosts" {
				w = lease.Want{Pools: listOf(c.String("pools")), Requires: c.String("requires")}
			}
			if err := readWant(&w, name, value); err != nil {
				return nil, err
			}
			all = append(all, w)
		}
	}
	return all, nil
}

// readWant reads the words of --units or --hosts.
func readWant(w *lease.Want, flag, value string) error {
	words := strings.Fields(value)
	if len(words) == 0 {
		return core.Errorf(core.CodeInvalid, flag, "--%s is empty", flag)
	}
	var err error
	if flag == "units" {
		pool, n, ok := strings.Cut(words[0], "=")
		if w.Units, err = strconv.Atoi(n); !ok || err != nil || w.Units < 1 {
			return core.Errorf(core.CodeInvalid, flag, "--units %.60q: write POOL=N, such as python=30", value)
		}
		w.Pools = []string{pool}
	} else {
		low, high, ok := strings.Cut(words[0], "-")
		if !ok {
			high = low
		}
		w.MinHosts, err = strconv.Atoi(low)
		most, wrong := strconv.Atoi(high)
		if w.MaxHosts = most; err != nil || wrong != nil || w.MinHosts < 1 || most < w.MinHosts {
			return core.Errorf(core.CodeInvalid, flag, "--hosts %.60q: write MIN-MAX, such as 2-4, or one number", value)
		}
	}
	for _, word := range words[1:] {
		key, text, _ := strings.Cut(word, "=")
		switch {
		case key == "requires":
			w.Requires = text
		case key == "pools" && flag == "hosts":
			w.Pools = listOf(text)
		case flag == "units" && (key == "affinity" || text == ""):
			if key != "affinity" {
				text = key
			}
			if w.Affinity, err = affinityOf(text); err != nil {
				return err
			}
		default:
			return core.Errorf(core.CodeInvalid, flag, "--%s %.60q: %.40q is not understood; after the number come together or apart, requires=LABELS, and of hosts pools=POOLS", flag, value, word)
		}
	}
	if len(w.Pools) == 0 {
		return core.Errorf(core.CodeInvalid, "pools", "which pools' VMs run on the whole hosts? Say --pools python,c")
	}
	return nil
}

func listOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// affinityOf reads an affinity as people say it, or as the API does.
func affinityOf(text string) (core.Affinity, error) {
	switch text {
	case "", "any", "none":
		return core.AffinityNone, nil
	case "together", "true":
		return core.AffinityTrue, nil
	case "apart", "false":
		return core.AffinityFalse, nil
	}
	return "", core.Errorf(core.CodeInvalid, "affinity", "%.40q does not say where units are: write any, together or apart", text)
}

package operator

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"

	"drover/core"
	"drover/web/page"
)

// field is one setting in a form.
type field struct {
	Name, Label, Value, Help string

	Choices []string // of a list; nil for a text field
	Lines   int      // of a field of several lines; 0 for one line
	Wrong   string   // what is wrong with the value

	read func(text string) error // parses the text into the setting
}

// readFields reads a form into settings. What is wrong stands at its field; the first is returned.
func readFields(r *page.Request, fields []field) (err error) {
	for i := range fields {
		f := &fields[i]
		f.Value = r.FormValue(f.Name)
		if wrong := f.read(f.Value); wrong != nil {
			f.Wrong = wrong.Error()
			err = cmp.Or(err, wrong)
		}
	}
	return err
}

// poolFields are a pool's settings; reading a field changes the pool.
func poolFields(p *core.Pool) []field {
	l := &p.Limits
	return []field{
		choice("provider", page.Sentence("Provider"), &p.Provider, core.ProviderNames()...),
		text("image", page.Sentence("Image"), page.Sentence("Name or name@digest; empty is the provider's own."), &p.Image),
		text("requires", page.Sentence("Required labels of hosts"), page.Sentence("Such as gpu=yes,zone=a; empty: any host."), &p.Requires),
		number("warm", page.Sentence("Clean VMs kept ready on each host"), &p.Warm),
		number("warm_total", page.Sentence("Clean VMs kept ready in the whole cluster"), &p.WarmTotal),
		number("warm_most", page.Sentence("Most clean VMs kept ready in the whole cluster as its use asks for"), &p.WarmMost),
		span("idle_after", page.Sentence("Nothing ready after no use for"), page.Sentence("0: always ready."), &p.IdleAfter),
		number("spread", page.Sentence("Hosts to spread its VMs over"), &p.Spread),
		choice("strategy", page.Sentence("Host of the next VM"), (*string)(&p.Strategy), core.Texts(core.Strategies())...),
		choice("order", page.Sentence("First, where not all fit"), (*string)(&p.Order), core.Texts(core.PlacementOrders())...),
		number("max", page.Sentence("Most VMs on each host"), &p.Max),
		choice("network", page.Sentence("Network"), &p.Network, core.NetworkNone, core.NetworkEgress),
		yesNo("peer", page.Sentence("A second VM beside each, for trusted parts such as interactors"), &p.Peer),
		yesNo("quiet", page.Sentence("Cores of its own for each VM, on hosts with three or more"), &p.Quiet),
		yesNo("unboxed", page.Sentence("Harnesses that start submissions without drover-run, which can forge their reports"), &p.Unboxed),
		span("timeout", page.Sentence("Longest run"), "", &l.Timeout),
		cpus("cpu", page.Sentence("Processors"), page.Sentence("Such as 1 or 0.5; 0: the provider decides."), &l.CPU),
		size("memory", page.Sentence("Memory"), &l.Memory),
		size("disk", page.Sentence("Disk of each writable place"), &l.Disk),
		size("file_size", page.Sentence("Largest file"), &l.FileSize),
		number("pids", page.Sentence("Processes and threads"), &l.Pids),
		number("open_files", page.Sentence("Open files of a process"), &l.OpenFiles),
		size("output", page.Sentence("Kept of each of stdout and stderr"), &l.Output),
		span("max_wait", page.Sentence("Longest wait"), page.Sentence("0: forever."), &p.MaxWait),
		span("broken_for", page.Sentence("Longest time broken on all hosts"), page.Sentence("Then waiting requests fail; 0: they wait on."), &p.BrokenFor),
		number("max_waiting", page.Sentence("Maximum waiting requests of one submitter and priority"), &p.MaxWaiting),
		number("running", page.Sentence("Maximum running requests of one submitter and priority (0: any)"), &p.Running),
		span("stage_timeout", page.Sentence("Maximum time from claim to start"), "", &p.StageTimeout),
		choice("on_host_loss", page.Sentence("When a host is lost"), &p.OnHostLoss, core.OnHostLossRequeue, core.OnHostLossFail),
		span("keep_outputs", page.Sentence("Keep outputs for"), page.Sentence("0: as long as their results."), &p.KeepOutputs),
	}
}

func text(name, label, help string, into *string) field {
	return field{Name: name, Label: label, Help: help, Value: *into, read: func(s string) error {
		*into = s
		return nil
	}}
}

func choice(name, label string, into *string, choices ...string) field {
	return field{Name: name, Label: label, Value: cmp.Or(*into, choices[0]), Choices: choices, read: func(s string) error {
		for _, c := range choices {
			if s == c {
				*into = s
				return nil
			}
		}
		return core.Errorf(core.CodeInvalid, name, "%.60q is no %s", s, name)
	}}
}

func yesNo(name, label string, into *bool) field {
	word := map[bool]string{true: "yes"}[*into]
	f := choice(name, label, &word, "no", "yes")
	choose := f.read
	f.read = func(s string) error {
		err := choose(s)
		*into = word == "yes"
		return err
	}
	return f
}

func number(name, label string, into *int) field {
	return field{Name: name, Label: label, Value: strconv.Itoa(*into), read: func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil {
			return core.Errorf(core.CodeInvalid, name, "%s: %.60q is no whole number", name, s)
		}
		*into = n
		return nil
	}}
}

func span(name, label, help string, into *time.Duration) field {
	return field{Name: name, Label: label, Help: help, Value: shortSpan(*into), read: func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil {
			return core.Errorf(core.CodeInvalid, name, "%s: %.60q is no length of time: write one such as 90s or 24h", name, s)
		}
		*into = d
		return nil
	}}
}

// shortSpan writes 24h0m0s as 24h.
func shortSpan(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func size(name, label string, into *int64) field {
	return field{Name: name, Label: label, Value: exactSize(*into), read: func(s string) error {
		n, err := units.RAMInBytes(s)
		if err != nil || n < 0 {
			return core.Errorf(core.CodeInvalid, name, "%s: %.60q is no size: write a number and a unit, such as 64MiB", name, s)
		}
		*into = n
		return nil
	}}
}

// exactSize formats bytes in the largest unit that is exact.
func exactSize(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n > 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// cpus is a number of processors, kept in thousandths.
func cpus[N int | int64](name, label, help string, into *N) field {
	return field{
		Name: name, Label: label, Help: help,
		Value: strconv.FormatFloat(float64(*into)/1000, 'g', -1, 64),
		read: func(s string) error {
			n, err := strconv.ParseFloat(s, 64)
			if err != nil || math.IsNaN(n) || n < 0 || n > core.MaxCPU/1000 {
				return core.Errorf(core.CodeInvalid, name, "%s: %.60q is no number of processors between 0 and %d", name, s, core.MaxCPU/1000)
			}
			*into = N(math.Round(n * 1000))
			return nil
		},
	}
}

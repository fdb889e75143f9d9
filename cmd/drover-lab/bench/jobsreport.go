package bench

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/cluster/history"
)

// jobsReport is the result of a jobsBench.
type jobsReport struct {
	Cluster string       `json:"cluster"`
	Pool    string       `json:"pool"`
	AtOnce  int          `json:"at_once"`
	Slots   int          `json:"slots,omitempty"` // of a cluster of its own
	Warm    int          `json:"warm,omitempty"`  // clean VMs that it keeps
	Cores   int          `json:"cores"`
	Load    string       `json:"load,omitempty"` // of the machine before it began
	Runs    []kindReport `json:"runs"`
}

// kindReport is the result of one kind of jobs.
type kindReport struct {
	Kind     string                    `json:"kind"`
	Load     int                       `json:"load_percent,omitempty"` // of the most jobs a second; 0: each submitter had one job at a time
	Skipped  string                    `json:"skipped,omitempty"`      // why it was not run
	Jobs     int                       `json:"jobs"`
	JobsPerS float64                   `json:"jobs_per_s"`
	Seconds  float64                   `json:"seconds"`
	Ends     map[core.RequestState]int `json:"ends"`
	Wrong    string                    `json:"wrong,omitempty"` // what the first job says that did not end well

	WarmHits   int `json:"warm"` // jobs whose VM was there, or being made, when they were submitted
	ColdClaims int `json:"cold"`

	OverBare float64 `json:"over_bare_ms,omitempty"` // of a test, beyond 1.25 × its program by itself; medians

	Phases    []phase     `json:"phases"`
	Processor []component `json:"processor"`    // of the cluster and this command
	Total     component   `json:"total"`        // of these together
	Kernel    component   `json:"kernel_tasks"` // of the kernel's own, of the whole machine
}

// phase is how long something took.
type phase struct {
	Name string  `json:"name"`
	Jobs int     `json:"jobs"` // that had it
	Mean float64 `json:"mean_ms"`
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
}

// component is the processor time of a component for one job, ms.
type component struct {
	Name   string  `json:"name"`
	User   float64 `json:"user_ms"`
	System float64 `json:"system_ms"`
	Sum    float64 `json:"ms"`
}

// The phases. The first four are of the request's history, whose times are whole milliseconds.
const (
	phaseClaim  = "submitted to claimed"
	phaseStart  = "claimed to started"
	phaseRun    = "started to finished"
	phaseWhole  = "submitted to finished"
	phaseAccept = "submitter: until accepted"
	phasePrint  = "submitter: until the first output"
	phaseOutput = "claimed to first output at the submitter"
	phaseSeen   = "submitter: until the end is known"
	phaseBare   = "the same programs by themselves"
)

func (b jobsBench) report(cluster string) *jobsReport {
	return &jobsReport{Cluster: cluster, Pool: b.Pool, AtOnce: b.AtOnce, Cores: runtime.NumCPU(), Load: load()}
}

// kindReportOf counts the jobs of a kind. The first output after the claim is known where submitter and cluster have
// the same clock.
func kindReportOf(name string, rides []ride, took time.Duration, used usage, sameClock bool) kindReport {
	n := float64(len(rides))
	r := kindReport{Kind: name, Jobs: len(rides), JobsPerS: n / took.Seconds(), Seconds: took.Seconds(), Ends: map[core.RequestState]int{}}
	samples := map[string][]float64{}
	var over []float64
	add := func(phase string, ms float64) { samples[phase] = append(samples[phase], ms) }
	for i := range rides {
		one, t := &rides[i], rides[i].result.Times
		r.Ends[one.result.State]++
		if wrong := one.wrong(); wrong != "" && r.Wrong == "" {
			r.Wrong = wrong
		}
		if warm, known := history.MetWarm(one.result.VM, t); known && warm {
			r.WarmHits++
		} else if known {
			r.ColdClaims++
		}
		add(phaseAccept, millis(one.accepted))
		add(phaseSeen, millis(one.ended))
		if one.bare > 0 {
			add(phaseBare, millis(one.bare))
			over = append(over, (float64(t.Finished-t.Started)-1.25*millis(one.bare))/manyTests)
		}
		if one.printed > 0 {
			add(phasePrint, millis(one.printed))
			if since := one.began.Add(one.printed).Sub(time.UnixMilli(t.Submitted + t.Claimed)); sameClock && t.Claimed >= 0 {
				add(phaseOutput, millis(since))
			}
		}
		if t.Claimed >= 0 && t.Started >= 0 && t.Finished >= 0 {
			add(phaseClaim, float64(t.Claimed))
			add(phaseStart, float64(t.Started-t.Claimed))
			add(phaseRun, float64(t.Finished-t.Started))
			add(phaseWhole, float64(t.Finished))
		}
	}
	for _, name := range []string{phaseClaim, phaseStart, phaseRun, phaseWhole, phaseAccept, phasePrint, phaseOutput, phaseSeen, phaseBare} {
		if all := samples[name]; len(all) > 0 {
			r.Phases = append(r.Phases, phaseOf(name, all))
		}
	}
	if len(over) > 0 {
		r.OverBare = phaseOf("", over).P50
	}
	r.Processor, r.Total, r.Kernel = used.perJob(n)
	return r
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func phaseOf(name string, all []float64) phase {
	slices.Sort(all)
	sum := 0.0
	for _, ms := range all {
		sum += ms
	}
	return phase{Name: name, Jobs: len(all), Mean: sum / float64(len(all)), P50: all[len(all)/2], P99: all[len(all)*99/100]}
}

// wrong is what went wrong with a job; "" for a good end.
func (r *ride) wrong() string {
	switch res := &r.result; {
	case res.State != core.RequestCompleted || res.ExitCode != 0:
		return fmt.Sprintf("request %s is %s with exit code %d. %s", r.id, res.State, res.ExitCode, res.Reason)
	case res.Score != nil && res.MaxScore != nil && *res.Score < *res.MaxScore:
		return fmt.Sprintf("request %s has %g of %g points", r.id, *res.Score, *res.MaxScore)
	}
	return ""
}

// failure is what the first job says that did not end well, of all kinds; "" if all did.
func (r *jobsReport) failure() string {
	for i := range r.Runs {
		if r.Runs[i].Wrong != "" {
			return "not every job of the kind " + r.Runs[i].Kind + " ended well: " + r.Runs[i].Wrong
		}
	}
	return ""
}

func (r *jobsReport) print(w io.Writer) error {
	fmt.Fprintf(w, "%d submitters on the cluster: %s; %d processors, load %s\n", r.AtOnce, terminal.Clean(r.Cluster), r.Cores, r.Load)
	for i := range r.Runs {
		if err := r.Runs[i].print(w); err != nil {
			return err
		}
	}
	return nil
}

func (r *kindReport) print(w io.Writer) error {
	if r.Skipped != "" {
		_, err := fmt.Fprintf(w, "\n%s: left out, %s\n", r.Kind, r.Skipped)
		return err
	}
	load := ""
	if r.Load > 0 {
		load = fmt.Sprintf(" at %d %% of the most", r.Load)
	}
	fmt.Fprintf(w, "\n%s: %d jobs, %.1f a second%s; %s met a warm VM\n\n", r.Kind, r.Jobs, r.JobsPerS, load, r.met())
	var rows []table.Row
	for _, p := range r.Phases {
		rows = append(rows, table.Row{p.Name, digits(p.Mean), digits(p.P50), digits(p.P99)})
	}
	if err := terminal.PrintTable(w, "", table.Row{"phase", "mean ms", "p50", "p99"}, rows); err != nil {
		return err
	}
	if r.OverBare != 0 {
		fmt.Fprintf(w, "\nA test takes 1.25 × its program by itself and %s ms.\n", digits(r.OverBare))
	}
	rows = nil
	all := append(slices.Clone(r.Processor), r.Total)
	if r.Kernel.Sum > 0 {
		all = append(all, r.Kernel)
	}
	for _, c := range all {
		rows = append(rows, table.Row{c.Name, digits(c.User), digits(c.System), digits(c.Sum)})
	}
	fmt.Fprintln(w)
	return terminal.PrintTable(w, "", table.Row{"processor ms a job", "user", "system", "sum"}, rows)
}

func digits(ms float64) string { return fmt.Sprintf("%.2f", ms) }

// met is the part of the jobs that met a warm VM.
func (r *kindReport) met() string {
	if r.WarmHits+r.ColdClaims == 0 {
		return "an unknown part"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(r.WarmHits)/float64(r.WarmHits+r.ColdClaims))
}

package local

import (
	"fmt"
	"testing"
	"time"

	"drover/core"
	"drover/core/agent"
)

// waits is how long a VM waits for its job.
const waits = 30 * time.Millisecond

// BenchmarkFirstOutput runs a program in VMs that waited for it, one after the other, and reports medians in ms: until
// the VM has taken the job, from there until the program's first output, and the whole with its 99th percentile.
func BenchmarkFirstOutput(b *testing.B) {
	p := benchProvider(b, "")
	var takes, prints, whole []time.Duration
	for i := range b.N {
		id := fmt.Sprint("vm-", i)
		for _, do := range []func() error{
			func() error { return p.Create(b.Context(), id, core.DefaultPool("p")) }, func() error { return p.Prepare(b.Context(), id) },
			func() error {
				time.Sleep(waits) //nolint:forbidigo // as a warm VM does: what it does meanwhile has no event
				began := time.Now()
				c, err := agent.Dial(p.traces.Path(id))
				if err != nil {
					return err
				}
				defer c.Close()
				if err := c.Assign(b.Context(), "a"); err != nil {
					return err
				}
				took, printed := time.Now(), time.Time{}
				_, err = c.Run(b.Context(), agent.Run{Args: []string{"echo", "begun"}}, func(string, []byte) { printed = time.Now() })
				takes, prints, whole = append(takes, took.Sub(began)), append(prints, printed.Sub(took)), append(whole, printed.Sub(began))
				return err
			},
			func() error { return p.Destroy(b.Context(), id) },
		} {
			if err := do(); err != nil {
				b.Fatal(err)
			}
		}
	}
	for unit, all := range map[string][]time.Duration{"takes-ms": takes, "prints-ms": prints, "whole-ms": whole} {
		b.ReportMetric(median(all), unit)
	}
	b.ReportMetric(float64(whole[len(whole)*99/100].Microseconds())/1000, "p99-ms") // sorted by now
}

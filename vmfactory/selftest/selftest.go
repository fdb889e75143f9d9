// Package selftest verifies, before a host takes work, that its VMs enforce their limits: it attacks a disposable VM
// of each provider.
//
// It detects a host that is set up wrongly, where limits are not in force. It does not prove that a provider has no
// holes: the conformance suite and its list of attacks look for those.
package selftest

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"drover/core"
	"drover/core/agent"
	"drover/core/service/clock"
	"drover/vmfactory"
)

// look is the time between two counts of processes.
const look = 10 * time.Millisecond

// last bounds the cleaning up after a test.
const last = 20 * time.Second

// trial is one test in progress.
type trial struct {
	provider vmfactory.Provider
	vm       string
	client   *agent.Client
	peak     int // most processes seen at once
}

// Run makes a VM of the pool's image, named vm, in the provider's run folder, attacks it, and destroys it. It always
// cleans up.
func Run(ctx context.Context, p vmfactory.Provider, folder string, pool core.Pool, vm string) core.SelfTest {
	began := time.Now()
	res := core.SelfTest{At: began.UnixMilli(), Attacks: []core.SelfCheck{}}
	t := &trial{provider: p, vm: vm}
	pool.Name, pool.Limits, pool.Network = "selftest", limits, core.NetworkNone
	err := t.attack(ctx, folder, pool, &res)
	if gone := t.destroy(ctx); err == nil {
		err = gone
	}
	if err != nil {
		res.Fault = "the self-test could not be made: " + err.Error()
	}
	res.TookMs = time.Since(began).Milliseconds()
	return res
}

func (t *trial) attack(ctx context.Context, folder string, pool core.Pool, res *core.SelfTest) error {
	if err := t.provider.Create(ctx, t.vm, pool); err != nil {
		return err
	}
	if err := t.provider.Prepare(ctx, t.vm); err != nil {
		return err
	}
	client, err := agent.Dial(filepath.Join(folder, t.vm))
	if err != nil {
		return err
	}
	defer client.Close()
	t.client = client
	if err := client.Assign(ctx, t.vm); err != nil {
		return err
	}
	for _, a := range attacks {
		r, err := t.run(ctx, a.script)
		if core.Is(err, core.CodeInvalid) {
			res.Attacks = append(res.Attacks, core.SelfCheck{Name: a.name, Verdict: core.VerdictWeak, Text: "it could not be tried: the image has no /bin/sh"})
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		check := core.SelfCheck{Name: a.name}
		check.Verdict, check.Text = a.judge(t, r)
		res.Attacks = append(res.Attacks, check)
		status, err := client.Status(ctx)
		if err != nil {
			return fmt.Errorf("after the %s: %w", a.name, err)
		}
		if status.Processes > 0 {
			return fmt.Errorf("%d processes have outlived the %s", status.Processes, a.name)
		}
	}
	return nil
}

// run runs a script and counts the processes that exist during it.
func (t *trial) run(ctx context.Context, script string) (run, error) {
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		for clock.Sleep(watching, clock.Real{}, look) == nil { // or the looks would starve the attack
			if status, err := t.client.Status(watching); err == nil {
				t.peak = max(t.peak, status.Processes)
			}
		}
	})
	var r run
	exit, err := t.client.Run(ctx, agent.Run{Args: []string{"/bin/sh", "-c", script}}, func(stream string, data []byte) {
		r.bytes += int64(len(data))
		if room := int(limits.Output) - len(r.stdout); stream == agent.Stdout && room > 0 {
			r.stdout += string(data[:min(room, len(data))])
		}
	})
	stop()
	watch.Wait()
	r.Exit = exit
	return r, err
}

// destroy ends the VM and verifies that the provider has nothing left of it.
func (t *trial) destroy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), last)
	defer cancel()
	if err := t.provider.Destroy(ctx, t.vm); err != nil {
		return err
	}
	all, err := t.provider.List(ctx)
	if err != nil {
		return err
	}
	for _, one := range all {
		if one.ID == t.vm {
			return core.Errorf(core.CodeBadVM, t.vm, "VM %s is there after it was destroyed", t.vm)
		}
	}
	return nil
}

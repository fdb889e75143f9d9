package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/agent/wire"
	"drover/vmfactory/process"
)

const (
	cpuPeriod = 100_000 // µs
	// agentPids is how many processes and threads a VM may have in addition to its job's: the agent has two dozen
	// threads.
	agentPids = 64
)

// bound is one limit: the file of a controller, and its content.
type bound struct {
	controller, file, value string
	maybe                   bool // a kernel without the file has nothing to limit there
	given                   bool // a new cgroup has it: it is only verified
}

// whole returns the limits of all processes of a VM.
func (h Host) whole(l core.Limits, cpus float64) []bound {
	memory := l.Memory + wire.AgentMemory
	all := slices.Concat(h.switches(), h.memory(memory))
	all = append(all, bound{controller: Pids, file: "pids.max", value: strconv.Itoa(l.Pids + agentPids)})
	if !h.at[Memory].v2 { // version 1 counts the buffers of TCP separately
		all = append(all, bound{controller: Memory, file: "memory.kmem.tcp.limit_in_bytes", value: strconv.FormatInt(memory/4, 10), maybe: true})
	}
	quota, period := strconv.Itoa(int(cpus*cpuPeriod)), strconv.Itoa(cpuPeriod)
	switch {
	case cpus <= 0:
	case h.at[CPU].v2:
		all = append(all, bound{controller: CPU, file: "cpu.max", value: quota + " " + period})
	default:
		all = append(all, bound{controller: CPU, file: "cpu.cfs_period_us", value: period, given: true}, bound{controller: CPU, file: "cpu.cfs_quota_us", value: quota})
	}
	return h.known(all)
}

// job returns the limits of user code.
func (h Host) job(l core.Limits) []bound {
	return h.known(append(h.memory(l.Memory), bound{controller: Pids, file: "pids.max", value: strconv.Itoa(l.Pids + wire.PidsBehind)}))
}

// switches returns what a VM's cgroup is set to besides limits, and those below it inherit. Version 1 counts swap only
// if the kernel is configured to; swapping is therefore turned off for the cgroup. Old kernels count the memory of a
// cgroup's children only if configured to.
func (h Host) switches() []bound {
	if !h.Has(Memory) || h.at[Memory].v2 {
		return nil
	}
	return []bound{
		{controller: Memory, file: "memory.use_hierarchy", value: "1", maybe: true},
		{controller: Memory, file: "memory.swappiness", value: "0", maybe: true},
	}
}

// memory returns the limits of memory with swap.
func (h Host) memory(most int64) []bound {
	value := strconv.FormatInt(most, 10)
	if h.at[Memory].v2 {
		return []bound{{controller: Memory, file: "memory.max", value: value}, {controller: Memory, file: "memory.swap.max", value: "0", maybe: true}}
	}
	return []bound{
		{controller: Memory, file: limitOf1, value: value},
		{controller: Memory, file: "memory.memsw.limit_in_bytes", value: value, maybe: true},
	}
}

// limitOf1 is version 1's file of the memory limit.
const limitOf1 = "memory.limit_in_bytes"

// limitFile returns the file of the memory limit, and peak the one of the highest usage.
func (h Host) limitFile() string {
	if h.at[Memory].v2 {
		return "memory.max"
	}
	return limitOf1
}

func (h Host) peak() string {
	if h.at[Memory].v2 {
		return "memory.peak"
	}
	return "memory.max_usage_in_bytes"
}

// FreesCaches reports whether the kernel can be told to free what it caches for a cgroup: names that were looked up, and
// pages of files, by which a job could leave messages for later ones. Version 2 can from Linux 5.19 on.
func (h Host) FreesCaches() bool {
	return h.Has(Memory) && unix.Access(filepath.Join(h.at[Memory].folder, h.cacheFile()), unix.F_OK) == nil // in a cgroup that we make, the file is ours
}

// cacheFile returns the file that does so.
func (h Host) cacheFile() string {
	if h.at[Memory].v2 {
		return cacheFile2
	}
	return cacheFile1
}

const (
	cacheFile1 = "memory.force_empty" // whatever is written
	cacheFile2 = "memory.reclaim"     // as much as is written
)

// known removes the limits of missing controllers.
func (h Host) known(all []bound) []bound {
	var here []bound
	for _, b := range all {
		if h.Has(b.controller) {
			here = append(here, b)
		}
	}
	return here
}

// set writes limits to the cgroups that at returns, and reads them back: a successful write proves nothing.
func set(all []bound, at func(controller string) string) error {
	return each(all, at, "set limit %s: %w", func(b bound, file string) ([]byte, error) {
		if b.given {
			return process.SetFile(file, "")
		}
		return process.SetFile(file, b.value)
	})
}

// inForce reads limits back from the kernel.
func inForce(all []bound, at func(controller string) string) error {
	return each(all, at, "limit %s is not in force: %w", func(_ bound, file string) ([]byte, error) { return process.ReadFile(file) })
}

// each compares limits with what do returns for their files.
func each(all []bound, at func(controller string) string, failed string, do func(b bound, file string) ([]byte, error)) error {
	for _, b := range all {
		file := filepath.Join(at(b.controller), b.file)
		text, err := do(b, file)
		switch {
		case err == nil:
			err = b.check(file, text)
		case b.maybe && errors.Is(err, fs.ErrNotExist):
			err = nil
		default:
			err = fmt.Errorf(failed, b.file, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check compares a limit with what its file says.
func (b bound) check(file string, text []byte) error {
	if got := strings.TrimSpace(string(text)); !holds(got, b.value, b.controller == Memory) {
		return fmt.Errorf("limit %s is not in force: %s says %s where %s was asked for", b.file, file, got, b.value)
	}
	return nil
}

// holds compares limits; the kernel rounds memory down to pages.
func holds(got, want string, memory bool) bool {
	least := int64(0) // below the requested size
	if memory {
		least = int64(os.Getpagesize()) - 1
	}
	g, w := strings.Fields(got), strings.Fields(want)
	if len(g) != len(w) {
		return false
	}
	for i := range g {
		have, err := strconv.ParseInt(g[i], 10, 64)
		most, werr := strconv.ParseInt(w[i], 10, 64)
		if most < least {
			least = 0 // a switch, not a size
		}
		if err != nil || werr != nil || have > most || have < 0 || most-have > least {
			return false
		}
	}
	return true
}

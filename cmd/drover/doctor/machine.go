package doctor

import (
	"context"
	"os"
	"strings"

	"drover/cmd/drover/terminal"
	"drover/cmd/drover/wiring"
	"drover/core"
	"drover/core/agent/wire"
	"drover/core/config"
	"drover/vmfactory"
	"drover/vmfactory/cores"
)

// machine checks what this machine can do as a host.
func (f *Findings) machine(ctx context.Context, cfg *config.Config) error {
	made, err := wiring.NewProviders(cfg, nil, true)
	if err != nil {
		return err
	}
	for _, provider := range made.All {
		about := "provider " + provider.Name()
		if err := provider.Ready(ctx); err != nil {
			f.fail(about, "", "%v", err)
			continue
		}
		f.ok(about, "can make VMs on this machine")
		prefix := ""
		if len(made.All) > 1 {
			prefix = about + ": "
		}
		for _, l := range provider.Limits() {
			f.Limit(prefix, l)
		}
	}
	f.Kernel(os.ReadFile)
	return made.Close()
}

// Limit reports what enforces a limit of VMs here.
func (f *Findings) Limit(prefix string, l vmfactory.Limit) {
	about := prefix + "limit on " + l.Name
	switch {
	case l.Name == cores.LimitName: // few pools ask for them
		f.ok(prefix+l.Name, "%s", l.Note)
	case l.HeldBy == "":
		f.warn(about, l.Note, "nothing holds it here")
	case l.Name == core.LimitMemory && l.HeldBy == wire.HeldByWatchdog:
		f.warn(about, l.Note, "held by %s, which can be outrun for a moment: good enough for mistakes, not for hostile code", l.HeldBy)
	default:
		f.ok(about, "held by %s%s", l.HeldBy, terminal.Prefixed("; ", l.Note))
	}
}

// Kernel checks settings of the host's kernel that a VM cannot change for itself.
func (f *Findings) Kernel(read func(path string) ([]byte, error)) {
	scope, err := read("/proc/sys/kernel/yama/ptrace_scope")
	switch {
	case err != nil:
		f.warn("ptrace", "have harnesses start submissions by drover-run, or use a kernel with the Yama security module and sysctl kernel.yama.ptrace_scope=1",
			"this kernel has no ptrace_scope: a submission that its harness starts without drover-run can read the harness's memory")
	case strings.TrimSpace(string(scope)) == "0":
		f.warn("ptrace", "have harnesses start submissions by drover-run, or sysctl kernel.yama.ptrace_scope=1",
			"ptrace_scope is 0: a submission that its harness starts without drover-run can read the harness's memory")
	default:
		f.ok("ptrace", "a submission cannot read the memory of its harness")
	}
	pattern, err := read("/proc/sys/kernel/core_pattern")
	if program, piped := strings.CutPrefix(strings.TrimSpace(string(pattern)), "|"); err == nil && piped {
		program, _, _ = strings.Cut(program, " ")
		f.warn("core dumps", "sysctl kernel.core_pattern=core",
			"the kernel starts %s on this host for every job that crashes, whatever the job's limits", program)
	}
}

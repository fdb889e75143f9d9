package lxc

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"drover/core"
	"drover/vmfactory/confine"
)

// oldestLiblxc is the first version that knows all settings in the config.
const oldestLiblxc = 5

// Ready returns nil or UNAVAILABLE with what is missing on this machine and how
// to mend it. It starts no container.
func (p *Provider) Ready(context.Context) error {
	for _, look := range []func() string{lacksLiblxc, lacksRoot, lacksKernel, p.lacksIDs, confine.LacksDumpLimit, p.lacksCgroups, p.lacksAgent} {
		if what := look(); what != "" {
			return core.Errorf(core.CodeUnavailable, "", "this machine cannot make containers: %s", what)
		}
	}
	return nil
}

func lacksLiblxc() string {
	if !linked {
		return "this drover was built without liblxc: install lxc and lxc-dev, and build it again with make build (go build -tags lxc)"
	}
	major := 0
	if _, err := fmt.Sscanf(version(), "%d.", &major); err == nil && major < oldestLiblxc {
		return fmt.Sprintf("liblxc %s is too old; %d.0 or newer is needed", version(), oldestLiblxc)
	}
	return ""
}

func lacksRoot() string {
	if os.Geteuid() != 0 {
		return "only root can give each container its own users and cgroups: run the vmfactory as root, or use provider local"
	}
	return ""
}

func lacksKernel() string {
	if what := confine.LacksKernel(); what != "" {
		return what
	}
	for _, ns := range []string{"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"} {
		if _, err := os.Lstat("/proc/self/ns/" + ns); err != nil {
			return fmt.Sprintf("the kernel has no %s namespaces: use one with CONFIG_NAMESPACES and all below it", ns)
		}
	}
	if confine.Sysctl("user/max_user_namespaces") == "0" {
		return "user namespaces are switched off; switch them on with sysctl -w user.max_user_namespaces=15000"
	}
	return ""
}

// lacksIDs checks whether root has the users here that containers get: inside a container it may have few.
func (p *Provider) lacksIDs() string {
	for _, file := range []string{"/proc/self/uid_map", "/proc/self/gid_map"} {
		f, err := os.Open(file)
		if err != nil {
			return fmt.Sprintf("cannot read which users this machine has (%v); is /proc mounted?", err)
		}
		found := false
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var inside, outside, count int
			n, _ := fmt.Sscan(lines.Text(), &inside, &outside, &count)
			found = found || n == 3 && inside <= p.cfg.FirstID && inside+count >= p.cfg.FirstID+p.cfg.IDs
		}
		_ = f.Close() // read only
		if !found {
			return fmt.Sprintf("root has not the users %d to %d here, from which containers get theirs: run drover outside of this container, "+
				"or name a range that it has with first_id and ids", p.cfg.FirstID, p.cfg.FirstID+p.cfg.IDs-1)
		}
	}
	return ""
}

func (p *Provider) lacksCgroups() string { return p.cgroups.why }

func (p *Provider) lacksAgent() string {
	if _, err := p.program.Open(); err != nil {
		return err.Error()
	}
	return ""
}

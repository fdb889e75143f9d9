package local

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/coretest/tier"
	"drover/vmfactory"
	"drover/vmfactory/cgroup"
	"drover/vmfactory/providertest"
	"drover/vmfactory/providertest/attack"
	"drover/vmfactory/providertest/programs"
)

// cgroupSetting, in the environment, is the cgroup setting of the suite's providers.
const cgroupSetting = "DROVER_TEST_CGROUP"

func newLocal(t *testing.T, run string) vmfactory.Provider {
	t.Helper()
	p, err := New(Config{Run: run, Agent: programs.Agent(t), Cgroup: os.Getenv(cgroupSetting)})
	require.NoError(t, err)
	if err := ready(p); err != nil {
		require.NoError(t, p.Close())
		providertest.Need(t, false, "a machine that can make VMs: "+err.Error())
	}
	return p
}

var (
	readyOnce sync.Once
	readyErr  error
)

// ready asks the first provider for all of them.
func ready(p *Provider) error {
	readyOnce.Do(func() { readyErr = p.Ready(context.Background()) })
	return readyErr
}

// TestConformance runs the suite as who we are.
func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, newLocal)
}

// TestAttacks puts the provider to all attacks as who we are.
func TestAttacks(t *testing.T) {
	t.Parallel()
	p, ok := newLocal(t, t.TempDir()).(*Provider)
	require.True(t, ok)
	column := columnOf(p)
	require.NoError(t, p.Close())
	attack.Run(t, newLocal, column)
}

// columnOf is the provider's name in the table of attacks.
func columnOf(p *Provider) attack.Column {
	switch {
	case p.owners.mode == singleMode:
		return attack.LocalUser
	case p.cgroups.host.Has(cgroup.Memory) && p.cgroups.host.Has(cgroup.CPU):
		return attack.LocalRoot
	}
	return attack.LocalLent
}

// nobody is an ordinary user that every Linux has.
const nobody = 65534

// TestAsAnOrdinaryUser runs both suites as those do who just try drover.
func TestAsAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	providertest.Need(t, os.Geteuid() == 0, "root, to become others")
	again(t, nil, nobody, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}, "", "TestConformance", "TestAttacks")
}

// TestConformanceAs runs the suites again in the other ways to make VMs: without cgroups, and as who is lent users by
// a container or by /etc/subuid. All three are one column of the attacks, which are tried once.
func TestConformanceAs(t *testing.T) {
	tier.OnlyInAll(t, tier.Long)
	t.Parallel()
	providertest.Need(t, os.Geteuid() == 0, "root, to become others")
	t.Run("root without cgroups", func(t *testing.T) {
		again(t, nil, 0, nil, CgroupsOff, "TestConformance", "TestAttacks")
	})
	t.Run("root of a container", func(t *testing.T) {
		const first, count = 400_000, 65536
		ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: first, Size: count}}
		again(t, nil, first, &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true,
			Credential: &syscall.Credential{Uid: 0, Gid: 0},
		}, "", "TestConformance")
	})
	t.Run("a user with newuidmap", func(t *testing.T) {
		for _, program := range []string{"newuidmap", "setpriv", "unshare"} {
			_, err := exec.LookPath(program)
			providertest.Need(t, err == nil, program)
		}
		etc := t.TempDir() // a small /etc of its own, in which users are lent
		for _, name := range []string{"subuid", "subgid"} {
			at := filepath.Join(etc, name)
			require.NoError(t, os.WriteFile(at, []byte("65534:300000:65536\n"), 0o600))
			require.NoError(t, os.Chmod(at, 0o644))
		}
		require.NoError(t, os.Chmod(etc, 0o755))
		become := `umask 022; cp -L /etc/passwd /etc/group /etc/nsswitch.conf /etc/ld.so.cache "$0"; mount --bind "$0" /etc && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"`
		again(t, []string{"unshare", "--mount", "sh", "-c", become, etc}, nobody, nil, "", "TestConformance")
	})
}

// again runs suites in another process, behind a command that may be none, whose user on
// this host is uid.
func again(t *testing.T, command []string, uid int, sys *syscall.SysProcAttr, cgroup string, suites ...string) {
	t.Helper()
	home, err := os.MkdirTemp("/tmp", "drover-") // which every user can reach
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(home)) })
	require.NoError(t, os.Chown(home, uid, uid))
	self, err := os.Executable()
	require.NoError(t, err)
	suite := filepath.Join(home, "suite") // the folder that go test makes is closed to others
	said, err := exec.CommandContext(t.Context(), "cp", self, suite).CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.NoError(t, os.Chmod(suite, 0o755))
	programs.Copy(t, home)
	command = append(command, suite)
	args := append(command[1:], "-test.run=^("+strings.Join(suites, "|")+")$", "-test.v")
	cmd := exec.CommandContext(t.Context(), command[0], args...)
	cmd.Dir, cmd.SysProcAttr = "/", sys
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, cgroupSetting+"="+cgroup, programs.Known+"="+home)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	_, why, skipped := strings.Cut(string(out), "this test needs ")
	why, _, _ = strings.Cut(why, "\n")
	providertest.Need(t, !skipped, why)
	for _, name := range suites {
		require.Contains(t, string(out), "--- PASS: "+name, "it ran")
	}
}

package providertest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/core/agent"
	"drover/vmfactory/providertest/probe"
)

// isolation is what user code must not be able to do.
func (s suite) isolation(t *testing.T) {
	t.Parallel()
	run := s.folder(t)
	p := s.provider(t, run)
	for name, aim := range map[string]func(*testing.T, vm) probe.Target{
		"network": none, "host-loopback": loopback, "host-files": hostFiles, "system-files": systemFiles, "mounts": none,
		"devices": none, "host-processes": hostProcess, "agent-socket": agentSocket, "agent-tracing": firstProcess, "agent-signals": firstProcess,
		"privileges": none, "namespaces": none, "kernel-calls": none, "foreign-calls": none, "hostname": hostName,
		"proc-files": none, "own-files": none, "cgroup-names": none, "sockets": none,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := armed(t, p, run, Pool())
			o := v.probe(t, name, aim(t, v))
			assert.Equal(t, probe.Held, o.stdout, "%s", o)
			alive(t, v)
		})
	}
	t.Run("descriptors", func(t *testing.T) { s.descriptors(t) })
	t.Run("shared memory", func(t *testing.T) {
		t.Parallel()
		mark := "drover-" + name()
		for range 2 { // the second must not find what the first left
			o := armed(t, p, run, Pool()).probe(t, "shared-memory", probe.Target{Marker: mark})
			assert.Equal(t, probe.Held, o.stdout, "%s", o)
		}
		assert.NoFileExists(t, filepath.Join("/dev/shm", mark))
	})
	t.Run("VMs apart", func(t *testing.T) {
		t.Parallel()
		a, b := armed(t, p, run, Pool()), armed(t, p, run, Pool())
		o := a.shell(t, "echo secret > /tmp/left; chmod 644 /tmp/left")
		require.Zero(t, o.Code, "%s", o)
		assert.Empty(t, b.shell(t, "cat /tmp/left 2>/dev/null").stdout)
	})
}

// alive asks the agent whether it still does its work, alone.
func alive(t *testing.T, v vm) {
	t.Helper()
	status, err := v.Status(bounded(t))
	require.NoError(t, err)
	assert.Zero(t, status.Processes)
	o := v.shell(t, "echo alive")
	assert.Equal(t, "alive\n", o.stdout, "%s", o)
}

func none(*testing.T, vm) probe.Target { return probe.Target{} }

// firstProcess is the agent of every VM.
func firstProcess(*testing.T, vm) probe.Target { return probe.Target{PID: 1} }

func loopback(t *testing.T, _ vm) probe.Target {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = tcp.Close() })
	at := "@drover-" + name()
	abstract, err := net.Listen("unix", at)
	require.NoError(t, err)
	t.Cleanup(func() { _ = abstract.Close() })
	return probe.Target{TCP: tcp.Addr().String(), Abstract: at}
}

func hostFiles(t *testing.T, v vm) probe.Target {
	t.Helper()
	path := filepath.Join(os.TempDir(), "drover-"+name())
	require.NoError(t, os.WriteFile(path, []byte("for all to read"), 0o600))
	t.Cleanup(func() { _ = os.Remove(path) })
	require.NoError(t, os.Chmod(path, 0o666))
	libs, err := os.ReadDir("/var/lib")
	require.NoError(t, err)
	var files []string
	for _, e := range libs {
		if e.Name() != "ghc" { // a VM may see the list of the compiler's libraries
			files = append(files, "/var/lib/"+e.Name())
		}
	}
	return probe.Target{Files: append(files,
		path, v.run, filepath.Join(v.run, v.id), filepath.Join(v.run, v.id, agent.SecretFile), "/etc/shadow", "/etc/gshadow", "/etc/sudoers",
		"/etc/ssh", "/etc/ssl/private", "/etc/machine-id", "/etc/environment", "/root", "/boot", "/home/"+filepath.Base(os.Getenv("HOME"))+"/.",
		"/var/log", "/var/run/docker.sock", "/run/docker.sock", "/run/dbus", "/run/user", "/run/systemd", "/sys/class", "/lost+found",
	)}
}

func systemFiles(*testing.T, vm) probe.Target {
	return probe.Target{Folders: []string{
		"/", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin", "/bin", "/lib", "/sbin", "/etc", "/etc/alternatives", "/dev", "/run",
		"/var", "/home", "/mnt", "/proc/sys/kernel",
	}}
}

func hostProcess(t *testing.T, _ vm) probe.Target {
	t.Helper()
	mark := "drover-" + name()
	cmd := exec.CommandContext(bounded(t), "/bin/sh", "-c", "read never", mark)
	_, err := cmd.StdinPipe() // it waits as long as this is open
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	return probe.Target{PID: cmd.Process.Pid, Marker: mark}
}

func agentSocket(_ *testing.T, v vm) probe.Target {
	path := filepath.Join(v.run, v.id, agent.SocketFile)
	return probe.Target{Sockets: []string{path, "/" + agent.SocketFile, "/run/" + agent.SocketFile, filepath.Join("/run", v.id, agent.SocketFile)}}
}

func hostName(t *testing.T, _ vm) probe.Target {
	t.Helper()
	host, err := os.Hostname()
	require.NoError(t, err)
	return probe.Target{Host: host}
}

// descriptors leaks descriptors into the provider's process and looks whether
// user code gets more than the three that are its own.
func (s suite) descriptors(t *testing.T) {
	// Not parallel: the leak would reach what other tests start.
	leak, err := unix.Open(t.TempDir(), unix.O_RDONLY, 0)
	require.NoError(t, err)
	high, err := unix.FcntlInt(uintptr(leak), unix.F_DUPFD, 200)
	require.NoError(t, err)
	defer func() { _, _ = unix.Close(leak), unix.Close(high) }()
	run := s.folder(t)
	v := armed(t, s.provider(t, run), run, Pool())
	o := v.shell(t, `for f in /proc/self/fd/*; do echo "${f##*/} $(readlink $f)"; done`)
	for line := range strings.SplitSeq(strings.TrimSpace(o.stdout), "\n") {
		fd, to, _ := strings.Cut(line, " ")
		switch {
		case to == "": // the shell's own, gone again
		case strings.HasPrefix(to, "pipe:["), to == "/dev/null":
			assert.Contains(t, "0 1 2", fd, "%s", o)
		default:
			assert.Fail(t, fmt.Sprintf("descriptor %s leads to %s", fd, to))
		}
	}
	alive(t, v)
}

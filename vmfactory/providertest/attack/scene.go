package attack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/vmfactory/providertest"
	"drover/vmfactory/providertest/probe"
)

// scene is what all attacks on one provider share.
type scene struct {
	providertest.Scene
	column Column
	host   host
	other  providertest.VM // clean and unused as long as the attacks run
}

// inside runs a probe on a VM of its own and returns what it got out. The VM must
// live on, and leave nothing when it is destroyed.
func (s *scene) inside(t *testing.T, name string, target probe.Target) []string {
	t.Helper()
	v := s.Armed(t, providertest.Pool())
	o := v.Probe(t, name, target)
	v.Alive(t)
	s.end(t, v)
	return got(t, o)
}

// got is what a probe says it could do.
func got(t *testing.T, o providertest.Outcome) []string {
	t.Helper()
	if o.Stdout == probe.Held {
		return nil
	}
	const through = "got through: "
	require.True(t, len(o.Stdout) > len(through) && o.Stdout[:len(through)] == through, "the probe did not end well: %+v", o)
	return []string{o.Stdout[len(through):]}
}

// end destroys a VM and looks for what remains of it.
func (s *scene) end(t *testing.T, v providertest.VM) {
	t.Helper()
	v.Destroy(t)
	assert.Empty(t, s.Traces(v.ID), "what is left of the VM on the host")
}

// host is what must be the same after all attacks.
type host struct {
	canary string
	marks  map[string]unix.Stat_t
	texts  map[string]string
	state  state
}

// watchedFiles are the host's that an escape would change, and settings of its kernel.
var watchedFiles = []string{"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/ld.so.preload", "/etc/crontab", "/dev/null", "/bin/sh", "/proc/self/exe"}

var watchedTexts = []string{
	corePattern, "/proc/sys/kernel/hostname", "/proc/sys/kernel/modprobe", "/proc/sys/net/ipv4/ip_forward", "/proc/sys/kernel/domainname",
}

func lookAtHost(t *testing.T) host {
	t.Helper()
	drop() // as before the last look
	h := host{canary: filepath.Join(os.TempDir(), "drover-canary-"+providertest.Name()), texts: map[string]string{}, state: stateOfHost()}
	require.NoError(t, os.WriteFile(h.canary, []byte("unharmed"), 0o600))
	require.NoError(t, os.Chmod(h.canary, 0o666)) // an attacker that reaches it could change it
	t.Cleanup(func() { _ = os.Remove(h.canary) })
	h.marks = marks(h.canary)
	free := dumps(t, unix.LOCK_SH)
	defer free()
	for _, path := range watchedTexts {
		text, _ := os.ReadFile(path) // one that is not there stays away
		h.texts[path] = string(text)
	}
	return h
}

func marks(canary string) map[string]unix.Stat_t {
	all := map[string]unix.Stat_t{}
	for _, path := range append([]string{canary}, watchedFiles...) {
		var st unix.Stat_t
		if unix.Stat(path, &st) == nil {
			st.Atim, st.Blocks = unix.Timespec{}, 0
			if st.Mode&unix.S_IFMT == unix.S_IFCHR {
				st.Mtim, st.Ctim = unix.Timespec{}, unix.Timespec{} // who writes to a device changes them
			}
		}
		all[path] = st
	}
	return all
}

func (h host) unharmed(t *testing.T) {
	t.Helper()
	assert.Equal(t, h.marks, marks(h.canary), "files of the host")
	text, err := os.ReadFile(h.canary)
	require.NoError(t, err)
	assert.Equal(t, "unharmed", string(text))
	h.state.settled(t)
	free := dumps(t, unix.LOCK_SH)
	defer free()
	for path, was := range h.texts {
		text, _ := os.ReadFile(path)
		assert.Equal(t, was, string(text), path)
	}
}

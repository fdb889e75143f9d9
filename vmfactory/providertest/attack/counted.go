package attack

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/agent"
	"drover/vmfactory/providertest"
	"drover/vmfactory/providertest/probe"
)

// holding starts a probe that says holding and stays, and calls do while it does.
func (s *scene) holding(t *testing.T, v providertest.VM, name string, target probe.Target, do func()) {
	t.Helper()
	held, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := v.Run(t.Context(), agent.Run{Args: v.ProbeArgs(name, target)}, func(string, []byte) { close(held) })
		ended <- err
	}()
	select {
	case <-held:
		do()
	case err := <-ended:
		require.NoError(t, err)
		require.Fail(t, "who was to hold something has ended")
	}
	require.NoError(t, v.Kill(t.Context()))
	assert.NoError(t, <-ended, "it was killed, as it should be")
	s.end(t, v)
}

// countersOfHost looks whether what a VM makes moves numbers that another one sees.
func countersOfHost(t *testing.T, s *scene) []string {
	t.Helper()
	const made, kept = 20_000, 10
	leaks := probeAt("counters")(t, s)
	v, other := s.Armed(t, providertest.Pool()), s.Armed(t, providertest.Pool())
	read := func() map[string]int64 {
		o := v.Probe(t, "numbers", probe.Target{})
		require.True(t, strings.HasSuffix(o.Stdout, probe.Held), "%+v", o)
		all := map[string]int64{}
		for line := range strings.Lines(strings.TrimSuffix(o.Stdout, probe.Held)) {
			what, number, _ := strings.Cut(strings.TrimSpace(line), " = ")
			all[what], _ = strconv.ParseInt(strings.TrimSpace(number), 10, 64) // a kernel without has none
		}
		return all
	}
	before := read()
	s.holding(t, other, "move-numbers", probe.Target{Most: made}, func() {
		for what, now := range read() {
			if moved := now - before[what]; moved >= kept {
				t.Logf("the number of %s moved by %d", what, moved)
				leaks = append(leaks, "the host's number of "+what)
			}
		}
	})
	s.end(t, v)
	return leaks
}

// kernelLog has processes with a name of their choice crash, and be killed for memory, and looks for what the host's log
// says of them.
func kernelLog(t *testing.T, s *scene) []string {
	t.Helper()
	log, err := os.OpenFile("/dev/kmsg", os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil // who may not read it cannot tell
	}
	defer log.Close() //nolint:errcheck // only read
	_, err = log.Seek(0, io.SeekEnd)
	require.NoError(t, err)
	mark := strings.TrimPrefix(providertest.Name(), "pt-")[:6]
	v := s.Armed(t, providertest.Pool())
	for _, script := range []string{`f() { f; }; f`, `x=0123456789abcdef; while :; do x=$x$x; done`} {
		v.Do(t, core.Limits{}, nil, "/bin/sh", "-c", `cp /bin/sh "/tmp/$0"; "/tmp/$0" -c "$1" || "/tmp/$0" sh -c "$1"`, "d\n\x1b[7m"+mark, script) // the other way is that of BusyBox
	}
	v.Alive(t)
	s.end(t, v)
	var leaks []string
	record := make([]byte, 8<<10)
	for {
		n, err := unix.Read(int(log.Fd()), record)
		if errors.Is(err, unix.EPIPE) { // records were overwritten
			continue
		}
		if err != nil || n == 0 {
			return leaks
		}
		if text := string(record[:n]); strings.Contains(text, mark) {
			t.Logf("%q", text)
			leaks = append(leaks, "the log names a process")
		}
	}
}

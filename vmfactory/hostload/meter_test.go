package hostload

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
)

// machine is the root of a host's file system that a test makes up.
type machine string

func (m machine) write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(string(m), name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
}

const pressed = "full avg10=90.00 avg60=0.00 avg300=0.00 total=0\n"

// fixture is a machine of two processors and 1000 KiB, 600 of which are available.
func fixture(t *testing.T) (machine, *Meter) {
	t.Helper()
	m := machine(t.TempDir())
	m.write(t, map[string]string{
		"proc/stat":            "cpu  100 20 80 700 100 0 0 0 50 10\ncpu0 50 10 40 350 50 0 0 0 25 5\ncpu1 50 10 40 350 50 0 0 0 25 5\nctxt 5\nbtime 1\n",
		"proc/meminfo":         "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 600 kB\n",
		"proc/pressure/cpu":    "some avg10=12.34 avg60=1.00 avg300=1.00 total=5\n" + pressed,
		"proc/pressure/memory": "some avg10=0.00 avg60=1.00 avg300=1.00 total=5\n" + pressed,
		"proc/pressure/io":     "some avg10=56.00 avg60=1.00 avg300=1.00 total=5\n" + pressed,
	})
	return m, &Meter{Root: string(m), Disk: string(m), Whole: core.Size{CPU: 2000, Memory: 1000 << 10}}
}

func measured(t *testing.T, m *Meter) core.HostMeasure {
	t.Helper()
	got, err := m.Measure()
	require.NoError(t, err)
	return got
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	m, meter := fixture(t)
	require.Equal(t, core.HostMeasure{
		Free: core.Size{CPU: 1600, Memory: 600 << 10}, Pressure: &core.Pressure{CPU: 12.34, IO: 56},
	}, measured(t, meter), "since the start")
	for _, c := range []struct {
		stat string
		want int64
	}{
		{"cpu  175 20 80 800 125 0 0 0 100 10", 1250},       // 75 of 200 ticks in use; those of guests count once
		{"cpu  175 20 80 800 125 50 25 25 100 10", 0},       // interrupts, and what other machines took
		{"cpu  175 20 80 800 125 50 25 25 100 10", 2000},    // no tick passed
		{"cpu  275 20 80 790 125 50 25 25 100 10", 0},       // the kernel's count went back
		{"cpu  275 20 80 890 125 50 25 25 100 10", 2000},    // idle
		{"cpu  275 20 80 840 225 50 25 25 100 10", 2000},    // waiting for disks is not using processors
		{"cpu  375 20 80 940 225 50 25 25 100 10 99", 1000}, // a newer kernel
	} {
		m.write(t, map[string]string{"proc/stat": c.stat + "\n"})
		require.Equal(t, c.want, measured(t, meter).Free.CPU, c.stat)
	}
}

func TestPressureThatIsNotMeasuredIsNone(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"cpu", "memory", "io"} {
		m, meter := fixture(t)
		require.NoError(t, os.Remove(filepath.Join(string(m), "proc/pressure", file)))
		require.Nil(t, measured(t, meter).Pressure, file)
		m.write(t, map[string]string{"proc/pressure/" + file: ""})
		require.Nil(t, measured(t, meter).Pressure, file)
	}
}

func TestMemoryThatAContainerHasLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"no cgroups":         {nil, 600 << 10},
		"no limit":           {map[string]string{"memory.max": "max\n", "memory.current": "5000\n"}, 600 << 10},
		"version 2":          {map[string]string{"memory.max": "9000\n", "memory.current": "5000\n", "memory.stat": "anon 10\ninactive_file 1000\nactive_file 7\n"}, 5000},
		"version 2, no stat": {map[string]string{"memory.max": "9000\n", "memory.current": "5000\n"}, 4000},
		"version 1": {map[string]string{
			"memory/memory.limit_in_bytes": "9000\n", "memory/memory.usage_in_bytes": "5000\n", "memory/memory.stat": "inactive_file 7\ntotal_inactive_file 2000\n",
		}, 6000},
		"version 1, no limit":            {map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712\n", "memory/memory.usage_in_bytes": "5000\n"}, 600 << 10},
		"over its limit":                 {map[string]string{"memory.max": "5000\n", "memory.current": "9000\n"}, 0},
		"more than the machine has left": {map[string]string{"memory.max": "900000000\n", "memory.current": "1\n"}, 600 << 10},
	} {
		m, meter := fixture(t)
		files := map[string]string{}
		for file, text := range c.files {
			files["sys/fs/cgroup/"+file] = text
		}
		m.write(t, files)
		require.Equal(t, c.want, measured(t, meter).Free.Memory, name)
	}
}

func TestTheDisk(t *testing.T) {
	t.Parallel()
	_, meter := fixture(t)
	require.Zero(t, measured(t, meter).Free.Disk, "its size is not known")
	meter.Whole.Disk = 1 << 50
	require.Positive(t, measured(t, meter).Free.Disk)
	meter.Disk += "/nothing"
	_, err := meter.Measure()
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.ErrorContains(t, err, "/nothing")
}

func TestWhatCannotBeMeasuredIsAnError(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{"proc/meminfo": "MemTotal: 5 kB\n", "proc/stat": "cpu x\n"} {
		m, meter := fixture(t)
		m.write(t, map[string]string{file: text})
		_, err := meter.Measure()
		require.Equal(t, core.CodeUnavailable, core.CodeOf(err), file)
	}
	_, err := (&Meter{Root: t.TempDir()}).Measure()
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
}

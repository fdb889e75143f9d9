package testrunner

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core/service/clock"
)

// proc makes a folder such as /proc.
func proc(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	return dir
}

func TestFactsOfTheHost(t *testing.T) {
	t.Parallel()
	dir := proc(t, map[string]string{
		"sys/kernel/osrelease": "6.12.1-amd64\n",
		"cpuinfo":              "processor\t: 0\nmodel\t\t: 49\nmodel name\t: AMD EPYC 7B12\n\nprocessor\t: 1\n",
	})
	require.Equal(t, facts{kernel: "6.12.1-amd64", cpu: "AMD EPYC 7B12"}, readFacts(dir))
	require.Equal(t, facts{}, readFacts(t.TempDir()), "what cannot be read is empty")
}

func TestNoise(t *testing.T) {
	t.Parallel()
	dir := proc(t, map[string]string{
		"pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
		"stat":         "cpu  5 6 7 8 9 0 1 100 0 0\ncpu0 1 2 3\n",
		"loadavg":      "0.10 0.20 0.30 2/345 6789\n",
	})
	c := clock.NewManual(time.UnixMilli(1_700_000_000_000))
	w := openWatch(dir, c)
	before := w.look()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1250999\n")
	write("stat", "cpu  5 6 7 8 9 0 1 103 0 0\n")
	write("loadavg", "0.10 0.20 0.30 7/345 6789\n")
	c.Advance(lookAge - 1)
	require.Equal(t, before, w.look(), "jobs that begin and end at once share a look")
	require.Equal(t, 1, w.looks)
	c.Advance(time.Second)
	n := w.look().since(before)
	require.Equal(t, 2, w.looks)
	require.Equal(t, int64(1009), n.Ms)
	require.Equal(t, int64(250), *n.Waited)
	require.Equal(t, int64(30), *n.Stolen)
	require.Equal(t, 7, *n.Running)
}

// A kernel without pressure, or a damaged file, gives nothing instead of zeros.
func TestNoiseThatIsNotMeasured(t *testing.T) {
	t.Parallel()
	w := openWatch(proc(t, map[string]string{"stat": "cpu  1 2", "loadavg": "0.10 0.20 0.30 x/345 6789"}), clock.NewManual(time.UnixMilli(1_700_000_000_000)))
	n := w.look().since(look{at: w.clock.Now()})
	require.Nil(t, n.Waited)
	require.Nil(t, n.Stolen)
	require.Nil(t, n.Running)
}

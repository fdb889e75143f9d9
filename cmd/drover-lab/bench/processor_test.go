package bench

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProcessorTimeOfAJobIsThatOfItsParts(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	before := usage{partVMs: {100 * ms, 200 * ms}, partMaker: {0, 0}, partRedis: {ms, ms}, partKernel: {0, 5 * ms}}
	after := usage{partVMs: {140 * ms, 280 * ms}, partMaker: {20 * ms, 0}, partRedis: {ms, ms}, partKernel: {0, 9 * ms}, partClient: {ms, ms}}
	each, total, kernel := after.since(before).perJob(4)
	require.Equal(t, []component{
		{partVMs, 10, 20, 30}, {partMaker, 5, 0, 5}, {partRedis, 0, 0, 0},
	}, each, "what was not known before has no difference")
	require.Equal(t, component{partTotal, 15, 20, 35}, total)
	require.Equal(t, component{partKernel, 0, 1, 1}, kernel, "it stands beside the sum")

	require.Equal(t, cpu{0, 3}, cpu{-2, 5}.balanced())
	require.Equal(t, cpu{3, 0}, cpu{5, -2}.balanced())
	require.Equal(t, cpu{5, 2}, cpu{5, 2}.balanced())
}

func TestProcessorTimeOfProcesses(t *testing.T) {
	t.Parallel()
	_, before, err := processTime(os.Getpid())
	require.NoError(t, err)
	cmd := exec.Command("sh", "-c", "while [ $((i += 1)) -lt 200000 ]; do :; done; read line")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.Contains(t, childrenOf(os.Getpid()), cmd.Process.Pid)
	require.NoError(t, in.Close())
	require.Error(t, cmd.Wait(), "there was nothing to read")
	its := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	_, after, err := processTime(os.Getpid())
	require.NoError(t, err)
	spent := after.minus(before)
	require.InDelta(t, float64(its), float64(spent.user+spent.system), float64(2*time.Second/100), "two ticks")

	_, _, err = processTime(1 << 30)
	require.ErrorContains(t, err, "a component's processor time cannot be read")
}

func TestPhasesHaveMeansAndQuantiles(t *testing.T) {
	t.Parallel()
	all := make([]float64, 100)
	for i := range all {
		all[len(all)-1-i] = float64(i)
	}
	require.Equal(t, phase{Name: "p", Jobs: 100, Mean: 49.5, P50: 50, P99: 99}, phaseOf("p", all))
	require.Equal(t, phase{Name: "p", Jobs: 1, Mean: 7, P50: 7, P99: 7}, phaseOf("p", []float64{7}))
}

package agent_test

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core/agent"
)

// BenchmarkFirstByte measures from the request to a command's first byte of
// output, beside what starting it from here costs.
func BenchmarkFirstByte(b *testing.B) {
	for _, kind := range []string{plain, inside, single} {
		b.Run(kind, func(b *testing.B) {
			v := assigned(b, kind, nil)
			run := agent.Run{Args: []string{"/bin/echo", "1"}}
			var took []time.Duration
			for b.Loop() {
				began, first := time.Now(), time.Duration(0)
				exit, err := v.client.Run(context.Background(), run, func(string, []byte) { first = time.Since(began) })
				require.NoError(b, err)
				require.Zero(b, exit.Code)
				took = append(took, first)
			}
			percentiles(b, took)
		})
	}
	b.Run("exec", func(b *testing.B) {
		var took []time.Duration
		for b.Loop() {
			began := time.Now()
			require.NoError(b, exec.Command("/bin/echo", "1").Run())
			took = append(took, time.Since(began))
		}
		percentiles(b, took)
	})
}

func percentiles(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(took[len(took)*p/100].Microseconds()), fmt.Sprintf("p%d-us", p))
	}
}

// BenchmarkFreshVM measures what a warm VM's first assignment and run cost, which
// is what each of them sees once.
func BenchmarkFreshVM(b *testing.B) {
	var ready, first []time.Duration
	for b.Loop() {
		began := time.Now()
		v := start(b, inside, nil)
		_, err := v.client.Status(context.Background())
		require.NoError(b, err)
		ready = append(ready, time.Since(began))
		began = time.Now()
		require.NoError(b, v.client.Assign(context.Background(), "a"))
		_, err = v.client.Run(context.Background(), agent.Run{Args: []string{"/bin/echo", "1"}}, func(string, []byte) { first = append(first, time.Since(began)) })
		require.NoError(b, err)
	}
	slices.Sort(ready)
	b.ReportMetric(float64(ready[len(ready)/2].Microseconds()), "ready-p50-us")
	percentiles(b, first)
}

// BenchmarkStage measures 10 MB in one file and in a thousand.
func BenchmarkStage(b *testing.B) {
	for _, files := range []int{1, 1000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			var archive bytes.Buffer
			w := tar.NewWriter(&archive)
			data := bytes.Repeat([]byte("drover"), 10<<20/6/files)
			for i := range files {
				require.NoError(b, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("d/%d", i), Mode: 0o644, Size: int64(len(data))}))
				_, err := w.Write(data)
				require.NoError(b, err)
			}
			require.NoError(b, w.Close())
			var took []time.Duration
			for b.Loop() {
				v := assigned(b, inside, nil)
				began := time.Now()
				require.NoError(b, v.client.Stage(context.Background(), "work", bytes.NewReader(archive.Bytes())))
				took = append(took, time.Since(began))
			}
			b.SetBytes(int64(archive.Len()))
			percentiles(b, took)
		})
	}
}

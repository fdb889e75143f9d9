package operator_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
)

// BenchmarkCluster is the page of the cluster with a full day behind it, as a process has it that has read nothing yet,
// and again a moment later.
func BenchmarkCluster(b *testing.B) {
	w := newFixture(b, coretest.Mini(b))
	var all []core.Bucket
	now := time.Now().UnixMilli()
	for _, step := range []int64{60_000, 300_000, 600_000, 3_600_000, 86_400_000} {
		since := now - 25*3_600_000
		for at := since - since%step; at < now; at += step {
			tally := fmt.Sprintf(`{"ends":{"completed":%d},"wait":{"n":9,"max_ms":9000,"counts":{"20":3,"24":2,"31":2,"40":2}},"run":{"n":9,"max_ms":900,"counts":{"12":5,"18":4}}}`, at/step%90)
			all = append(all, core.Bucket{Step: step, Name: "ended-all", At: at, Doc: []byte(`{"all":` + tally + `}`)},
				core.Bucket{Step: step, Name: "sample", At: at, Doc: []byte(`{"waiting/a":3,"waiting/b":4,"vms/clean":9,"vms/claimed":4,"hosts/up":3,"running/a":3}`)})
		}
	}
	for len(all) > 0 {
		n := min(len(all), 500)
		require.NoError(b, w.store.PutBuckets(b.Context(), all[:n]))
		all = all[n:]
	}
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			fresh := w.anew(b)
			b.StartTimer()
			fresh.shows(b, "olga", "/cluster")
		}
	})
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			w.shows(b, "olga", "/cluster")
		}
	})
}

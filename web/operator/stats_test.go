package operator_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
)

// The page of statistics shows what was counted and sampled, as pictures and as tables.
func TestStatistics(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	w.counted(t)
	require.Contains(t, w.shows(t, "otto", "/cluster/stats"), "polyline class=\"line calm\"")
	for _, address := range []string{"/cluster/stats?span=1h&by=submitter", "/cluster/stats?span=1d&by=submitter", "/cluster/stats?span=7d&by=submitter"} {
		text := w.shows(t, "otto", address)
		require.Contains(t, text, "all others")
		require.Contains(t, text, "&lt;b&gt;")
		require.NotContains(t, text, "<b>")
		require.Contains(t, text, `<td class="num" data-label="Ran again">7 %</td>`)
	}
	require.Equal(t, 422, w.ask(t, "otto", "/cluster/stats?by=love", nil).Code)
}

// counted fills buckets of the last two hours.
func (w *fixture) counted(t *testing.T) {
	t.Helper()
	var all []core.Bucket
	now := time.Now().UnixMilli()
	for _, step := range []int64{60_000, 300_000, 600_000, 3_600_000, 86_400_000} {
		since := now - 2*3_600_000
		for at := since - since%step; at < now; at += step {
			n := at / step % 7
			tally := fmt.Sprintf(`{"ends":{"completed":%d},"cpu_ms":100,"again_ms":7,"wait":{"n":%d,"max_ms":9000,"counts":{"%d":%d}},"run":{}}`, n+1, n+1, 40+n, n+1)
			for name, value := range map[string]string{"all": "all", "pool": "python"} {
				all = append(all, core.Bucket{Step: step, Name: "ended-" + name, At: at, Doc: []byte(`{"` + value + `":` + tally + `}`)})
			}
			all = append(all, core.Bucket{Step: step, Name: "ended-submitter", At: at, Doc: []byte(`{"*":` + tally + `,"<b>":` + tally + `}`)},
				core.Bucket{
					Step: step, Name: "sample", At: at,
					Doc: []byte(fmt.Sprintf(`{"waiting/p":%d,"vms/clean":%d,"vms/claimed":%d,"hosts/up":3,"hosts/down":%d}`, n*3, 9-n, n, n%2)),
				})
		}
	}
	require.NoError(t, w.store.PutBuckets(t.Context(), all))
}

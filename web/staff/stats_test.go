package staff_test

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/history"
)

// Staff see the statistics of their class, and nobody else's.
func TestStatsOfAClass(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	c, err := w.reg.Store.GetClass(t.Context(), "cs101")
	require.NoError(t, err)
	c.Created = time.Now().Add(-time.Second).UnixMilli()
	_, err = w.reg.Store.PutClass(t.Context(), c)
	require.NoError(t, err)
	const at = "/classes/cs101/stats"
	require.Contains(t, w.shows("tina", at), "Nothing.")
	w.graded("hw1")
	s := w.submit("ann", "hw1")
	w.grade(func(r *core.Result) { r.State, r.Blame = core.RequestFailed, core.BlameHarness })
	require.NoError(t, w.reg.Resubmit(t.Context(), w.as("tess"), s.ID))
	w.grade(func(*core.Result) {})
	_, err = history.Counter{Store: w.reg.Store.(counted), Now: time.Now, Keep: 24 * time.Hour}.Count(t.Context())
	require.NoError(t, err)
	text := w.shows("tess", at)
	require.Contains(t, text, `<th scope="row">hw1</th>`)
	require.Contains(t, text, `data-label="ended">2</td>`)
	require.Contains(t, text, `data-label="fault of the harness">1</td>`)
	require.Contains(t, text, "<dt>Submissions tested</dt><dd>1</dd>")
	require.Contains(t, text, "<dt>Tested again</dt><dd>1</dd>")
	require.Contains(t, text, `id="faults-title"`)
	drawn := regexp.MustCompile(`<polyline[^>]* points="(\d+)\.`).FindStringSubmatch(text)
	require.NotEmpty(t, drawn)
	x, err := strconv.Atoi(drawn[1])
	require.NoError(t, err)
	require.Greater(t, x, 500, "what ended now is at the end of thirty days, however young the class is")
	require.Contains(t, w.shows("tess", at+"?span=1h&by=day"), time.Now().UTC().Format(time.DateOnly))
	require.Equal(t, 422, w.get("tess", at+"?by=submitter").Code, "students are not compared")
	require.Equal(t, 403, w.get("ann", at).Code)
	require.Equal(t, 404, w.get("theo", at).Code)
}

// counted is the store as those use it who count.
type counted interface {
	core.Statistics
	core.StateLog
}

package ratios

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

const table = `Text, with | a bar.

| system | jobs/s | × a | worst | × b |
| --- | --- | --- | --- | --- |
| drover, 1 | 100 | 1.00 | 0.90 | 2.50 |
| drover, 2 | 100 | 4.00 | 3.90 |  |
| a | 100 | 1.00 | 1.00 | 0.10 |

| another | × a |
| --- | --- |
| drover, 3 | 9.00 |
`

func TestRatiosAreRead(t *testing.T) {
	t.Parallel()
	require.Equal(t, map[Key]float64{
		{"drover, 1", "a"}: 1, {"drover, 1", "b"}: 2.5, {"drover, 2", "a"}: 4, {"a", "a"}: 1, {"a", "b"}: 0.1,
	}, Of(table))
}

func TestWhatFellByAFifthIsNamed(t *testing.T) {
	t.Parallel()
	now := map[Key]float64{{"drover, 1", "a"}: 0.81, {"drover, 1", "b"}: 2, {"drover, 2", "a"}: 1, {"a", "b"}: 0.01, {"drover, 9", "a"}: 5}
	was := Of(table)
	was[Key{"drover, 0", "a"}] = 1
	fallen, compared, missing := Fallen(was, now)
	require.Equal(t, []Fall{{Key{"drover, 2", "a"}, 4, 1}, {Key{"drover, 1", "b"}, 2.5, 2}}, fallen)
	require.Equal(t, 3, compared)
	require.Equal(t, []Key{{"drover, 0", "a"}, {"drover, 9", "a"}}, missing)
}

// The document is what make bench-check compares with.
func TestTheDocumentHasRatios(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/benchmarks.md")
	require.NoError(t, err)
	found := Of(string(text))
	for _, key := range []Key{
		{"drover, 100 slots", "asynq, c=10"},
		{"drover, 100 slots", "BullMQ, c=100"},
		{"drover, true, 4 at once", "go-judge"},
		{"drover, true, 16 at once", "bare"},
	} {
		require.Positive(t, found[key], "%+v", key)
	}
}

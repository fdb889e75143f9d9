package schedule_test

import (
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/cluster/schedule"

	"github.com/stretchr/testify/require"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return moment
}

func TestNext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, after string
		next        []string
	}{
		{"17 3 * * *", "2026-06-01T03:17:00Z", []string{"2026-06-02T03:17:00Z", "2026-06-03T03:17:00Z"}},
		{"@daily", "2026-06-01T12:00:00Z", []string{"2026-06-02T00:00:00Z"}},
		{"0 9 * * 1-5", "2026-06-05T12:00:00Z", []string{"2026-06-08T09:00:00Z"}},
		{"CRON_TZ=Europe/Berlin 30 6 * * *", "2026-06-01T00:00:00Z", []string{"2026-06-01T04:30:00Z"}},
		{"CRON_TZ=Europe/Berlin 30 6 * * *", "2026-12-01T00:00:00Z", []string{"2026-12-01T05:30:00Z"}},
		// The hour that the zone skips has no moments.
		{"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-03-28T00:00:00Z", []string{"2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"}},
		// The one that it has twice has them twice.
		{"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-10-24T12:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"}},
		{"0 0 29 2 *", "2026-06-01T00:00:00Z", []string{"2028-02-29T00:00:00Z"}},
	} {
		times, err := schedule.Parse(c.text)
		require.NoError(t, err, c.text)
		var got []string
		for _, next := range times.Next(at(t, c.after), len(c.next)) {
			got = append(got, next.UTC().Format(time.RFC3339))
		}
		require.Equal(t, c.next, got, c.text)
	}
}

func TestLast(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, after, now, last string }{
		{"* * * * *", "2020-01-01T00:00:00Z", "2026-06-01T12:00:30Z", "2026-06-01T12:00:00Z"},
		{"17 3 * * *", "2026-06-01T03:17:00Z", "2026-06-02T03:16:59Z", ""},
		{"17 3 * * *", "2026-06-01T03:17:00Z", "2026-06-02T03:17:00Z", "2026-06-02T03:17:00Z"},
		{"17 3 * * *", "2026-06-01T03:17:00Z", "2026-06-09T12:00:00Z", "2026-06-09T03:17:00Z"},
		{"0 0 1 1 *", "2020-06-01T00:00:00Z", "2026-06-09T12:00:00Z", "2026-01-01T00:00:00Z"},
		{"0 0 29 2 *", "2020-06-01T00:00:00Z", "2026-06-09T12:00:00Z", "2024-02-29T00:00:00Z"},
		{"@daily", "2026-06-02T00:00:00Z", "2026-06-01T00:00:00Z", ""},
	} {
		times, err := schedule.Parse(c.text)
		require.NoError(t, err)
		got, ok := times.Last(at(t, c.after), at(t, c.now))
		require.Equal(t, c.last != "", ok, c)
		if ok {
			require.Equal(t, c.last, got.UTC().Format(time.RFC3339), c)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "* * * *", "* * * * * *", "61 * * * *", "@every 5m", "@sometimes", "0 0 30 2 *", "CRON_TZ=Europe/Berlin", "CRON_TZ=Local 0 0 * * *",
		"CRON_TZ=Europe/Berlin ", "CRON_TZ=Nowhere/Land 0 0 * * *", "TZ=UTC 0 0 * * *", "TZ=UTC", strings.Repeat("1,", 200) + "1 * * * *",
		"CRON_TZ=../../etc/passwd 0 0 * * *",
	} {
		_, err := schedule.Parse(text)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("CRON_TZ=UTC 17 3 * * *")
	f.Add("TZ=")
	f.Fuzz(func(t *testing.T, text string) {
		times, err := schedule.Parse(text)
		if err == nil {
			require.NotEmpty(t, times.Next(time.Unix(0, 0), 1))
		}
	})
}

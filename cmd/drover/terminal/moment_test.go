package terminal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"drover/core"
)

func TestTimesAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	now := time.Date(2026, 10, 24, 12, 0, 0, 0, berlin) // the day before clocks are put back
	for text, want := range map[string]string{
		"2026-12-01 23:59":          "2026-12-01T23:59:00+01:00",
		" 2026-07-01 23:59:30 ":     "2026-07-01T23:59:30+02:00",
		"2026-12-01T23:59":          "2026-12-01T23:59:00+01:00",
		"2026-12-01T23:59:00Z":      "2026-12-02T00:59:00+01:00",
		"2026-12-01T23:59:00-08:00": "2026-12-02T08:59:00+01:00",
		"+7d":                       "2026-10-31T12:00:00+01:00",
		"+1w":                       "2026-10-31T12:00:00+01:00",
		"+24h":                      "2026-10-25T11:00:00+01:00",
		"+1d":                       "2026-10-25T12:00:00+01:00",
		"+90m":                      "2026-10-24T13:30:00+02:00",
	} {
		ms, err := parseMoment(text, now)
		require.NoError(t, err, text)
		require.Equal(t, want, time.UnixMilli(ms).In(berlin).Format(time.RFC3339), text)
	}
	ms, err := parseMoment("none", now)
	require.NoError(t, err)
	require.Zero(t, ms)
	for _, text := range []string{
		"", "tomorrow", "2026-12-01", "2026-13-01 10:00", "2026-02-30 10:00", "2027-03-28 02:30", // clocks are put forward
		"+", "+7", "+7y", "+-1h", "+99999d", "+1d2h", "0001-01-01 00:00", "9999-01-01 00:00", "1e9", "12:00",
	} {
		_, err := parseMoment(text, now)
		require.True(t, core.Is(err, core.CodeInvalid), "%q: %v", text, err)
	}
}

func TestTimesAreReadInTheZoneThatIsNamed(t *testing.T) {
	t.Parallel()
	var got int64
	app := &cli.App{
		Flags:  []cli.Flag{ZoneFlag(), &cli.StringFlag{Name: "due"}},
		Action: func(c *cli.Context) error { return MomentFlag(c, "due", &got) },
	}
	require.NoError(t, app.Run([]string{"drover", "--time-zone", "Asia/Tokyo", "--due", "2026-12-01 09:00"}))
	require.Equal(t, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), got)
}

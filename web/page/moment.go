package page

import (
	"html/template"
	"strings"
	"time"

	"drover/core"
)

// steps are the units of relative times; the largest that fits at least once is used.
var steps = []struct {
	unit              time.Duration
	in, ins, ago, ags string
}{
	{365 * 24 * time.Hour, Sentence("in %d year"), Sentence("in %d years"), Sentence("%d year ago"), Sentence("%d years ago")},
	{30 * 24 * time.Hour, Sentence("in %d month"), Sentence("in %d months"), Sentence("%d month ago"), Sentence("%d months ago")},
	{24 * time.Hour, Sentence("in %d day"), Sentence("in %d days"), Sentence("%d day ago"), Sentence("%d days ago")},
	{time.Hour, Sentence("in %d hour"), Sentence("in %d hours"), Sentence("%d hour ago"), Sentence("%d hours ago")},
	{time.Minute, Sentence("in %d minute"), Sentence("in %d minutes"), Sentence("%d minute ago"), Sentence("%d minutes ago")},
	{time.Second, Sentence("in %d second"), Sentence("in %d seconds"), Sentence("%d second ago"), Sentence("%d seconds ago")},
}

// Relative returns the distance of a time from now: "in 3 hours", "2 days ago".
func (s Speech) Relative(at, now time.Time) string {
	d := at.Sub(now)
	for _, step := range steps {
		if n := int(d / step.unit); n > 0 {
			return s.N(n, step.in, step.ins)
		} else if n < 0 {
			return s.N(-n, step.ago, step.ags)
		}
	}
	return s.T("now")
}

// When formats a time, ms since 1970, for pages: relative, with the absolute time as its tooltip. 0 is none.
func (s Speech) When(ms int64, now time.Time) template.HTML {
	if ms == 0 {
		return template.HTML("<span class=none>–</span>")
	}
	at := time.UnixMilli(ms)
	return timeTag(at, s.Relative(at, now), s.Absolute(at))
}

// Date formats a time, ms since 1970, for pages: absolute, beside a relative one whose tooltip a phone does not show.
// 0 is empty.
func (s Speech) Date(ms int64) template.HTML {
	if ms == 0 {
		return ""
	}
	at := time.UnixMilli(ms)
	return timeTag(at, s.Absolute(at), "")
}

// timeTag returns a time as an element. One with a title is relative: the page keeps it up to date.
func timeTag(at time.Time, text, title string) template.HTML {
	var b strings.Builder
	err := moment.Execute(&b, map[string]string{"Datetime": at.UTC().Format(time.RFC3339), "Title": title, "Text": text})
	if err != nil {
		return template.HTML(template.HTMLEscapeString(text)) //nolint:gosec // escaped
	}
	return template.HTML(b.String()) //nolint:gosec // escaped by html/template
}

var moment = template.Must(template.New("").Parse(`<time datetime="{{.Datetime}}"{{with .Title}} title="{{.}}" data-relative{{end}}>{{.Text}}</time>`))

// How pages write days and moments.
const (
	Day    = "2006-01-02"
	minute = Day + " 15:04"
	second = minute + ":05"
)

// UTC writes a moment, ms since 1970, for pages whose times are all in UTC, as their heads say. 0 is empty.
func UTC(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(minute)
}

// Absolute writes a moment in the server's time zone, which it names; of a full minute without seconds.
func (s Speech) Absolute(at time.Time) string {
	if at.Second() == 0 {
		return at.Format(minute + " MST")
	}
	return at.Format(second + " MST")
}

// Span writes a length of time in milliseconds: "340 ms", "2.5 s", "3m20s".
func (s Speech) Span(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return s.Number(float64(ms)) + " ms"
	case d < time.Minute:
		return s.Number(d.Round(10*time.Millisecond).Seconds()) + " s"
	}
	return d.Round(time.Second).String()
}

// Size writes a number of bytes: "516 B", "1.5 KiB", "64 MiB".
func (s Speech) Size(bytes int64) string {
	value, unit := core.SizeUnit(bytes)
	return s.decimals(value, core.SizeDigits(value)) + " " + unit
}

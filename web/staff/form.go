package staff

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"

	"drover/core"
	"drover/web/page"
)

// form reads a form as typed. It keeps the first error; all values go back to the page unchanged.
type form struct {
	Typed url.Values
	err   error
}

// typed reads a form without files. Returns an error if the body is no form.
func typed(r *page.Request) (*form, error) {
	if err := r.ParseForm(); err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, "", "the form cannot be read")
	}
	return &form{Typed: r.PostForm}, nil
}

func (f *form) wrong(sentence string) {
	if f.err == nil {
		f.err = core.Errorf(core.CodeInvalid, "", "%s", sentence)
	}
}

// line returns one line of text, without the spaces around it.
func (f *form) line(name string) string { return strings.TrimSpace(f.Typed.Get(name)) }

// text returns several lines. Browsers send them with carriage returns.
func (f *form) text(name string) string {
	return strings.ReplaceAll(f.Typed.Get(name), "\r\n", "\n")
}

func (f *form) checked(name string) bool { return f.Typed.Get(name) != "" }

// confirmed records an error if a destructive form was not confirmed.
func (f *form) confirmed(r *page.Request) {
	if !f.checked("sure") {
		f.wrong(r.T("Tick the box to confirm: this cannot be undone."))
	}
}

// whole reads a whole number; empty is 0.
func (f *form) whole(r *page.Request, name, label string) int64 {
	text := f.line(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f.wrong(r.T("%s: %.40q is not a whole number.", r.T(label), text))
	}
	return n
}

// small reads a whole number that fits an int on every machine.
func (f *form) small(r *page.Request, name, label string) int {
	n := f.whole(r, name, label)
	if n < math.MinInt32 || n > math.MaxInt32 {
		f.wrong(r.T("%s: %d is too large.", r.T(label), n))
		return 0
	}
	return int(n)
}

// bytes reads a size such as 10MiB; empty is 0.
func (f *form) bytes(r *page.Request, name, label string) int64 {
	text := f.line(name)
	if text == "" {
		return 0
	}
	n, err := units.RAMInBytes(text)
	if err != nil || n < 0 {
		f.wrong(r.T("%s: %.40q is not a size: write one such as 10MiB.", r.T(label), text))
	}
	return n
}

// lines returns the lines of a text that are not empty, without the spaces around them.
func (f *form) lines(name string) []string {
	var all []string
	for line := range strings.Lines(f.text(name)) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// percent reads a part of a hundred; empty is 0.
func (f *form) percent(r *page.Request, name, label string) float64 {
	text := strings.TrimSpace(strings.TrimSuffix(strings.ReplaceAll(f.line(name), ",", "."), "%"))
	if text == "" {
		return 0
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0 && x <= 100) {
		f.wrong(r.T("%s: %.40q is not a number from 0 to 100.", r.T(label), text))
		return 0
	}
	return x
}

// percentText formats a part of a hundred for a form; 0 is empty.
func percentText(x float64) string {
	if x == 0 {
		return ""
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// seconds reads a duration; empty is 0.
func (f *form) seconds(r *page.Request, name, label string) time.Duration {
	text := strings.ReplaceAll(f.line(name), ",", ".")
	if text == "" {
		return 0
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0 && x <= 7*24*3600) {
		f.wrong(r.T("%s: %.40q is not a number of seconds.", r.T(label), text))
		return 0
	}
	return time.Duration(x * float64(time.Second))
}

// momentLayouts are the formats in which browsers send a time, without and with seconds.
var momentLayouts = []string{"2006-01-02T15:04", "2006-01-02T15:04:05"}

// moment reads a time in the site's time zone, as ms since 1970; empty is 0.
func (f *form) moment(r *page.Request, name, label string) int64 {
	text := f.line(name)
	if text == "" {
		return 0
	}
	for _, layout := range momentLayouts {
		t, err := time.ParseInLocation(layout, text, time.Local)
		if err != nil {
			continue
		}
		if t.Format(layout) != text {
			f.wrong(r.T("%s: %s does not exist: clocks are set forward at that time.", r.T(label), text))
			return 0
		}
		if t.Year() < 1971 || t.Year() > 2999 {
			f.wrong(r.T("%s: the year %s looks like a typing error.", r.T(label), strconv.Itoa(t.Year())))
			return 0
		}
		return t.UnixMilli()
	}
	f.wrong(r.T("%s: %.40q is not a date with a time.", r.T(label), text))
	return 0
}

// momentText formats a time for a form.
func momentText(ms int64) string {
	if ms == 0 {
		return ""
	}
	if t := time.UnixMilli(ms); t.Second() != 0 {
		return t.Format(momentLayouts[1])
	}
	return time.UnixMilli(ms).Format(momentLayouts[0])
}

// zone names the time zone of the times in forms.
func zone(r *page.Request) string { return r.Now().In(time.Local).Format("MST (UTC-07:00)") }

// sizeText formats a size exactly.
func sizeText(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GiB", units.GiB}, {"MiB", units.MiB}, {"KiB", units.KiB}} {
		if n != 0 && n%unit.size == 0 {
			return strconv.FormatInt(n/unit.size, 10) + unit.name
		}
	}
	return wholeText(n)
}

// wholeText formats a number for a form; 0 is empty.
func wholeText(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// secondsText formats a duration for a form; 0 is empty.
func secondsText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}

func ticked(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

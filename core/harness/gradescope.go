package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"strconv"
	"strings"
	"time"

	"drover/core"
	"drover/core/service/pattern"
)

// FormatGradescope is the value of drover/format for a harness that prints what an autograder of Gradescope writes into
// results.json.
const FormatGradescope = "gradescope"

// Visibilities of tests in results.json, beside hidden and after_published, which drover treats alike: nobody but staff
// ever reads such a test, because a result does not change when grades are published.
const (
	seenAlways   = "visible"
	seenAfterDue = "after_due_date"
)

// shownResults is a results.json while it becomes a report.
type shownResults struct {
	afterDue bool // the assignment was due when the submission was graded
	stdout   string
	usual    string // visibility of tests without one
	hidden   int

	output, name string // formats of outputs and names of tests without one
}

// ParseResults reads a results.json of a submission. Said is what the autograder printed, and afterDue whether the
// assignment was due. It returns an INVALID error that says which part is wrong. Unknown keys are ignored.
func ParseResults(text []byte, said string, afterDue bool) (Report, error) {
	members, err := parseObject(text)
	if err != nil {
		return Report{}, invalid("results.json", err)
	}
	in := shownResults{afterDue: afterDue, stdout: said}
	r, err := in.report(members)
	return r, invalid("results.json", err)
}

func (in *shownResults) report(o object) (r Report, err error) {
	if in.usual, err = visibilityOf(o, "visibility", seenAlways); err != nil {
		return r, err
	}
	if r.Score, err = o.number("score"); err != nil {
		return r, err
	}
	if _, err = o.number("execution_time"); err != nil {
		return r, err
	}
	if in.output, err = formatOf(o, "test_output_format", ""); err != nil {
		return r, err
	}
	if in.name, err = formatOf(o, "test_name_format", ""); err != nil {
		return r, err
	}
	if r.Tests, err = in.whole(o); err != nil {
		return r, err
	}
	list, err := o.list("tests")
	if err != nil {
		return r, err
	}
	sum, most, scored := 0.0, 0.0, false
	for i, raw := range list {
		t, err := in.test(raw, i+1)
		if err != nil {
			return r, fmt.Errorf("is wrong in test %d: it %w", i+1, err)
		}
		sum, most, scored = sum+t.Score, most+t.MaxScore, scored || t.MaxScore != 0 || t.Score != 0
		r.Tests = append(r.Tests, t)
	}
	if r.Score == nil && !scored {
		return r, errors.New(`has no "score", and no test in it has one`)
	}
	if r.Score == nil {
		r.Score = &sum
	}
	if most > 0 {
		r.MaxScore = &most
	}
	board, err := leaderboard(o)
	if board != nil {
		r.Tests = append(r.Tests, *board)
	}
	return r, err
}

// whole returns entries for what the file says of the whole submission.
func (in *shownResults) whole(o object) ([]core.Test, error) {
	var all []core.Test
	text, err := formatted(o, "output", "output_format", "")
	if err != nil {
		return nil, err
	}
	if text != "" && in.seen(in.usual) {
		all = append(all, core.Test{Name: "Output", Message: text})
	}
	seen, err := visibilityOf(o, "stdout_visibility", "hidden")
	if err == nil && in.seen(seen) && strings.TrimSpace(in.stdout) != "" {
		all = append(all, core.Test{Name: "Printed by the autograder", Message: fenced(clean(in.stdout))})
	}
	return all, err
}

func (in *shownResults) test(raw json.RawMessage, at int) (t core.Test, err error) {
	o, err := parseObject(raw)
	if err != nil {
		return t, err
	}
	for key, into := range map[string]*float64{"score": &t.Score, "max_score": &t.MaxScore} {
		n, err := o.number(key)
		if err != nil {
			return t, err
		}
		if n != nil {
			*into = *n
		}
	}
	status, err := o.text("status")
	if err != nil {
		return t, err
	}
	switch status {
	case "":
	case "passed":
		t.Verdict = core.TestAccepted
	case "failed":
		t.Verdict = "failed"
	default:
		return t, fmt.Errorf("has a status %q: it can be passed or failed", shorten(status, maxQuoted))
	}
	seen, err := visibilityOf(o, "visibility", in.usual)
	if err != nil {
		return t, err
	}
	if t.Name, err = named(o, at, in.name); err != nil {
		return t, err
	}
	if t.Message, err = formatted(o, "output", "output_format", in.output); err != nil {
		return t, err
	}
	if _, err := o.list("tags"); err != nil {
		return t, err
	}
	if !in.seen(seen) {
		in.hidden++
		t.Name, t.Message, t.Hidden = "Hidden test "+strconv.Itoa(in.hidden), "", true
	}
	return t, nil
}

// seen reports whether students see what has this visibility.
func (in *shownResults) seen(visibility string) bool {
	return visibility == seenAlways || visibility == seenAfterDue && in.afterDue
}

func visibilityOf(o object, key, usual string) (string, error) {
	word, err := o.text(key)
	switch word {
	case "":
		return usual, err
	case seenAlways, seenAfterDue, "after_published", "hidden":
		return word, nil
	}
	return "", fmt.Errorf("has a %s %q: it can be visible, hidden, after_due_date or after_published", key, shorten(word, maxQuoted))
}

// named returns a test's number and name.
func named(o object, at int, usual string) (string, error) {
	name, err := withColours(o, "name")
	if err != nil {
		return "", err
	}
	if format, err := formatOf(o, "name_format", usual); err != nil {
		return "", err
	} else if format == "html" || format == "ansi" {
		name = plainText(name, format)
	}
	name = clean(name)
	number := ""
	if o.given("number") {
		if number, err = o.text("number"); err != nil { // some write a number
			n, err := o.number("number")
			if err != nil {
				return "", err
			}
			number = strconv.FormatFloat(*n, 'g', -1, 64)
		}
	}
	name = strings.Join(strings.Fields(number+" "+name), " ")
	if name == "" {
		name = "Test " + strconv.Itoa(at)
	}
	return shorten(name, MaxName), nil
}

func formatOf(o object, key, usual string) (string, error) {
	format, err := o.text(key)
	switch format {
	case "":
		return usual, err
	case "text", "html", "simple_format", "md", "ansi":
		return format, err
	}
	return "", fmt.Errorf("has a %s %q: it can be text, html, simple_format, md or ansi", key, shorten(format, maxQuoted))
}

// withColours returns a text as it is written, where object.text replaces what makes colours; "" if there is none.
func withColours(o object, key string) (text string, err error) {
	if o.given(key) && json.Unmarshal(o[key], &text) != nil {
		err = fmt.Errorf("has a %q that is not a string", key)
	}
	return text, err
}

// formatted returns a text as Markdown, as which messages are shown.
func formatted(o object, key, formatKey, usual string) (string, error) {
	if !o.given(key) {
		return "", nil
	}
	text, err := withColours(o, key)
	if err != nil {
		return "", err
	}
	format, err := formatOf(o, formatKey, usual)
	if err != nil || strings.TrimSpace(text) == "" {
		return "", err
	}
	if format == "html" || format == "simple_format" || format == "ansi" {
		text = plainText(text, format)
	}
	if text = clean(text); format == "md" {
		return shorten(text, mostShown), nil
	}
	return fenced(text), nil
}

// mostShown is how many characters of a text are shown: what is around it takes some of a message.
const mostShown = MaxMessage - 100

// fenced makes a block of code of a text, which nothing in it can end.
func fenced(text string) string {
	text = shorten(text, mostShown)
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 50 {
		return TooLarge
	}
	return fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

var (
	escapes = pattern.New(`\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|.)`)
	breaks  = pattern.New(`(?i)<(br|/p|/div|/li|/tr|/h[1-6]|/pre)\b[^>]*>`)
	unread  = pattern.New(`(?is)<(script|style)\b.*?</(script|style)\s*>`)
	tags    = pattern.New(`<[^>]*>`)
)

// plainText removes what makes colours and pages: no foreign HTML gets into a page of drover.
func plainText(text, format string) string {
	if format == "ansi" {
		return escapes().ReplaceAllString(text, "")
	}
	text = unread().ReplaceAllString(text, "")
	text = breaks().ReplaceAllString(text, "\n")
	text = tags().ReplaceAllString(text, "")
	return strings.TrimSpace(html.UnescapeString(text))
}

// leaderboard returns an entry with the table of the leaderboard; nil if there is none.
func leaderboard(o object) (*core.Test, error) {
	list, err := o.list("leaderboard")
	if err != nil || len(list) == 0 {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("| | |\n|---|---|\n")
	for i, raw := range list {
		one, err := parseObject(raw)
		if err != nil {
			return nil, fmt.Errorf("is wrong in entry %d of the leaderboard: it %w", i+1, err)
		}
		name, err := one.text("name")
		if err != nil || name == "" {
			return nil, fmt.Errorf("is wrong in entry %d of the leaderboard: it has no name", i+1)
		}
		var value any
		if err := json.Unmarshal(one["value"], &value); err != nil {
			return nil, fmt.Errorf("is wrong in entry %d of the leaderboard: it has no value", i+1)
		}
		order, err := one.text("order")
		if err != nil || order != "" && order != "asc" && order != "desc" {
			return nil, fmt.Errorf("is wrong in entry %d of the leaderboard: its order can be asc or desc", i+1)
		}
		switch value.(type) {
		case string, float64, bool:
		default:
			return nil, fmt.Errorf("is wrong in entry %d of the leaderboard: its value is neither text nor number", i+1)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", cell(name), cell(clean(fmt.Sprint(value))))
	}
	text := b.String()
	if len(text) >= MaxMessage {
		text = TooLarge
	}
	return &core.Test{Name: "Leaderboard", Message: text}, nil
}

// cell is a text as part of a table in Markdown.
func cell(s string) string {
	return "`" + strings.NewReplacer("`", "'", "|", "/", "\n", " ").Replace(shorten(s, MaxName)) + "`"
}

// WasDue reports whether the assignment of an input was due at a time.
func (in *Input) WasDue(now time.Time) bool {
	text, err := in.assignment.text("due")
	if err != nil || text == "" {
		return false
	}
	due, err := time.Parse(time.RFC3339, text)
	return err == nil && !now.Before(due)
}

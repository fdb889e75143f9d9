package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"drover/core"
)

// Bounds on a report. Its bytes are bounded by the request's output limit.
const (
	MaxItems    = 1000 // tests of a report, parts of a test, actions of a kind
	MaxName     = 200  // characters of a test's or part's name; what follows is cut
	MaxMessage  = 5000 // characters; a message of so many is replaced by TooLarge
	MaxAbsScore = 1e12 // of any score or max score
)

// TooLarge stands in place of a message of MaxMessage characters or more.
const TooLarge = "Details not available (content too large)"

// Report is what a harness prints.
type Report struct {
	Score    *float64 // nil if it gave none
	MaxScore *float64
	Failed   bool // the harness could not grade this submission, as it reports
	Tests    []core.Test
}

// ParseReport reads a harness's whole standard output. It returns an INVALID
// error for anything but one JSON object of the contract. Unknown keys are ignored.
func ParseReport(out []byte) (Report, error) {
	if len(bytes.TrimSpace(out)) == 0 {
		return Report{}, invalid("the harness's output", errors.New("is empty"))
	}
	members, err := parseObject(out)
	if err != nil {
		return Report{}, invalid("the harness's output", err)
	}
	r, err := members.report()
	return r, invalid("the harness's output", err)
}

// invalid makes a sentence of what is wrong and of a predicate that says how.
// It returns nil for a nil predicate.
func invalid(what string, predicate error) error {
	if predicate == nil {
		return nil
	}
	return core.Errorf(core.CodeInvalid, "", "%s %s", what, predicate)
}

func (o object) report() (Report, error) {
	var r Report
	var err error
	if r.Score, err = o.number("score"); err != nil {
		return Report{}, err
	}
	if r.MaxScore, err = o.number("max_score"); err != nil {
		return Report{}, err
	}
	if o.given("failed") {
		if err := json.Unmarshal(o["failed"], &r.Failed); err != nil {
			return Report{}, errors.New(`has a "failed" that is neither true nor false`)
		}
	}
	if r.Tests, err = o.tests(); err != nil {
		return Report{}, err
	}
	return r, nil
}

// number returns the key's number, or nil where it is missing or null.
func (o object) number(key string) (*float64, error) {
	if !o.given(key) {
		return nil, nil
	}
	n, err := score(o[key])
	if err != nil {
		return nil, fmt.Errorf("has a %q that %w", key, err)
	}
	return &n, nil
}

// required returns the key's number; a missing one is an error.
func (o object) required(key string) (float64, error) {
	n, err := o.number(key)
	if err != nil {
		return 0, err
	}
	if n == nil {
		return 0, fmt.Errorf("has no %q", key)
	}
	return *n, nil
}

func score(raw json.RawMessage) (float64, error) {
	n, err := strconv.ParseFloat(string(raw), 64)
	if errors.Is(err, strconv.ErrSyntax) {
		return 0, errors.New("is not a number")
	}
	// A number too large for a float64 comes back as infinite.
	if math.Abs(n) > MaxAbsScore {
		return 0, fmt.Errorf("is out of range (at most %g either way)", MaxAbsScore)
	}
	return n, nil
}

func (o object) tests() ([]core.Test, error) {
	list, err := o.list("tests")
	if err != nil || len(list) == 0 {
		return nil, err
	}
	tests := make([]core.Test, 0, len(list))
	for i, raw := range list {
		test, err := parseTest(raw)
		if err != nil {
			return nil, fmt.Errorf("is wrong in test %d: it %w", i+1, err)
		}
		tests = append(tests, test)
	}
	return tests, nil
}

func parseTest(raw json.RawMessage) (core.Test, error) {
	members, err := parseObject(raw)
	if err != nil {
		return core.Test{}, err
	}
	var test core.Test
	if !members.given("name") {
		return core.Test{}, errors.New("has no name")
	}
	if test.Name, err = members.text("name"); err != nil {
		return core.Test{}, err
	}
	test.Name = shorten(test.Name, MaxName)
	if test.Score, err = members.required("score"); err != nil {
		return core.Test{}, err
	}
	if test.MaxScore, err = members.required("max_score"); err != nil {
		return core.Test{}, err
	}
	if test.Message, err = members.text("message"); err != nil {
		return core.Test{}, err
	}
	if utf8.RuneCountInString(test.Message) >= MaxMessage {
		test.Message = TooLarge
	}
	if test.Parts, err = members.parts(); err != nil {
		return test, err
	}
	return test, members.more(&test)
}

// more reads the other fields of a test.
func (o object) more(test *core.Test) error {
	for key, into := range map[string]*string{"verdict": &test.Verdict, "group": &test.Group} {
		text, err := o.text(key)
		if err != nil {
			return err
		}
		*into = shorten(text, MaxName)
	}
	if o.given("hidden") {
		if err := json.Unmarshal(o["hidden"], &test.Hidden); err != nil {
			return errors.New(`has a "hidden" that is neither true nor false`)
		}
	}
	if !o.given("usage") {
		return nil
	}
	used, err := parseObject(o["usage"])
	if err != nil {
		return fmt.Errorf(`has a "usage" that %w`, err)
	}
	test.Usage = &core.Usage{}
	for key, into := range map[string]*int64{
		"cpu_ms": &test.Usage.CPUMs, "wall_ms": &test.Usage.WallMs, "memory_peak_bytes": &test.Usage.MemoryPeakBytes,
	} {
		n, err := used.number(key)
		if err != nil || n == nil {
			if err != nil {
				return fmt.Errorf(`has a "usage" that %w`, err)
			}
			continue
		}
		*into = int64(*n)
	}
	return nil
}

func (o object) parts() ([]core.Part, error) {
	list, err := o.list("parts")
	if err != nil || len(list) == 0 {
		return nil, err
	}
	parts := make([]core.Part, 0, len(list))
	for i, raw := range list {
		part, err := parsePart(raw)
		if err != nil {
			return nil, fmt.Errorf("has a part %d that %w", i+1, err)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func parsePart(raw json.RawMessage) (core.Part, error) {
	var three []json.RawMessage
	if err := json.Unmarshal(raw, &three); err != nil || len(three) != 3 {
		return core.Part{}, errors.New("is not an array [name, score, max_score]")
	}
	var part core.Part
	if three[0][0] != '"' || json.Unmarshal(three[0], &part.Name) != nil {
		return core.Part{}, errors.New("has a name that is not a string")
	}
	part.Name = shorten(clean(part.Name), MaxName)
	var err error
	if part.Score, err = score(three[1]); err != nil {
		return core.Part{}, fmt.Errorf("has a score that %w", err)
	}
	if part.MaxScore, err = score(three[2]); err != nil {
		return core.Part{}, fmt.Errorf("has a max_score that %w", err)
	}
	return part, nil
}

// list returns the key's array, or nil where it is missing or null.
func (o object) list(key string) ([]json.RawMessage, error) {
	if !o.given(key) {
		return nil, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(o[key], &list); err != nil {
		return nil, fmt.Errorf("has %q that are not an array", key)
	}
	if len(list) > MaxItems {
		return nil, fmt.Errorf("has %d %s, more than %d", len(list), key, MaxItems)
	}
	return list, nil
}

// yes returns the key's boolean, false where it is missing or null.
func (o object) yes(key string) (bool, error) {
	if !o.given(key) {
		return false, nil
	}
	var yes bool
	if err := json.Unmarshal(o[key], &yes); err != nil {
		return false, fmt.Errorf("has a %q that is neither true nor false", key)
	}
	return yes, nil
}

// text returns the key's string, cleaned, or "" where it is missing or null.
func (o object) text(key string) (string, error) {
	if !o.given(key) {
		return "", nil
	}
	var s string
	if err := json.Unmarshal(o[key], &s); err != nil {
		return "", fmt.Errorf("has a %q that is not a string", key)
	}
	return clean(s), nil
}

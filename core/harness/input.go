package harness

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"drover/core"
	"drover/core/school"
)

// Input is the parsed Input of a request's spec, for its harness. Every field is optional; Stdin fills the missing
// ones.
type Input struct {
	Config Config // raw_harness.config
	// TestType is raw_submission.test_type: public or final.
	TestType string
	// Stock is whether drover itself grades by the harness's cases.yaml.
	Stock bool

	harness, submission, assignment, provider object
	actions                                   []json.RawMessage // nil if not given
}

// NewInput makes the Input of a spec for a harness with the given settings.
func NewInput(c Config, testType string) json.RawMessage {
	return newInput(c, map[string]any{"test_type": testType}, nil)
}

// InputFor makes the Input of a spec that grades a submission to an assignment that has a harness and the deadlines
// of the submission's user. Later runs give the harness the same Input.
func InputFor(a school.Assignment, s school.Submission) json.RawMessage {
	return newInput(
		Config{Raw: a.Harness.Config, stock: a.Harness.Stock},
		map[string]any{"id": s.ID, "assignment": a.Name(), "user": s.User, "timestamp": isoTime(s.At), "test_type": s.Kind},
		map[string]any{"id": a.Name(), "name": a.Title, "due": isoTime(a.Due), "due_cutoff": isoTime(a.Cutoff), "hide_until": isoTime(a.HideUntil)},
	)
}

// Grading returns the request that grades a submission to an assignment that has a harness and the deadlines of the
// submission's user. The caller adds id, submitter and webhooks.
func Grading(a school.Assignment, s school.Submission) core.Spec {
	return core.Spec{
		Pool: a.Pool, Priority: a.Priority, Files: s.Files, Harness: &a.Harness.File, Input: InputFor(a, s),
		Assignment: a.Name(), Submission: s.ID, Limits: a.Limits,
	}
}

func newInput(c Config, submission, assignment map[string]any) json.RawMessage {
	config := c.Raw
	if config == nil {
		config = json.RawMessage("{}")
	}
	// Only a Config that did not come from ParseConfig could fail here.
	input := map[string]any{"raw_harness": map[string]any{"config": config}, "raw_submission": submission}
	if assignment != nil {
		input["raw_assignment"] = assignment
	}
	if c.stock {
		input[keyStock] = stockCases
	}
	raw, _ := json.Marshal(input)
	return raw
}

// isoTime formats a time for harnesses; null for 0, which is never.
func isoTime(ms int64) any {
	if ms == 0 {
		return nil
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// keyStock names the stock harness that grades in place of the harness's main.
const (
	keyStock   = "drover/stock"
	stockCases = "cases"
)

// ParseInput reads a spec's Input; an empty one is valid. It returns an INVALID error for invalid JSON objects, for
// wrong settings, and for keys without a "/" that are not in the contract.
func ParseInput(raw json.RawMessage) (Input, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	members, err := parseObject(raw)
	if err != nil {
		return Input{}, invalid("the harness's input", err)
	}
	in, err := members.input()
	return in, invalid("the harness's input", err)
}

func (o object) input() (Input, error) {
	in := Input{TestType: TestPublic, provider: object{}}
	var err error
	if in.harness, err = o.object("raw_harness"); err != nil {
		return Input{}, err
	}
	if in.submission, err = o.object("raw_submission"); err != nil {
		return Input{}, err
	}
	if in.assignment, err = o.object("raw_assignment"); err != nil {
		return Input{}, err
	}
	if in.actions, err = o.list("actions"); err != nil {
		return Input{}, err
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		switch {
		case slices.Contains([]string{"raw_harness", "raw_submission", "raw_assignment", "actions"}, key):
		case strings.Contains(key, "/"):
			in.provider[key] = o[key]
		default:
			return Input{}, fmt.Errorf("has an unknown key %q: a platform's own needs a \"/\" in it", shorten(key, maxQuoted))
		}
	}
	if stock, err := in.provider.text(keyStock); err != nil || stock != "" {
		if stock != stockCases {
			return Input{}, fmt.Errorf("has a %q that is not %q", keyStock, stockCases)
		}
		in.Stock = true
	}
	if in.harness.given("config") {
		if in.Config, err = parseConfig(in.harness["config"]); err != nil {
			return Input{}, fmt.Errorf("has a config that %w", err)
		}
	}
	kind, err := in.submission.text("test_type")
	switch {
	case err != nil:
		return Input{}, err
	case kind == TestPublic || kind == TestFinal:
		in.TestType = kind
	case kind != "":
		return Input{}, fmt.Errorf("has a test_type %q: it is %s or %s", shorten(kind, maxQuoted), TestPublic, TestFinal)
	}
	return in, nil
}

// object returns the key's object, or an empty one where it is missing or null.
func (o object) object(key string) (object, error) {
	if !o.given(key) {
		return object{}, nil
	}
	inner, err := parseObject(o[key])
	if err != nil {
		return nil, fmt.Errorf("has a %q that %w", key, err)
	}
	return inner, nil
}

// Places say where in the VM things are.
type Places struct {
	Harness    string
	Submission string
}

// Stdin makes the one object that a harness reads: all fields of the contract, null if not known, and the platform's
// own, each with a "/" in its name.
func (in Input) Stdin(spec *core.Spec, at Places, platform map[string]any) ([]byte, error) {
	spec = spec.Original()
	submitted := isoTime(spec.Submitted)
	id := ""
	if spec.Harness != nil {
		id = spec.Harness.Digest
	}
	config := in.Config.Raw
	if config == nil {
		config = json.RawMessage("{}")
	}
	actions := in.actions
	if actions == nil {
		actions = in.Config.Actions(in.TestType)
	}
	whole := map[string]any{
		"raw_harness": in.harness.filled(map[string]any{"id": id, "config": config, "harness_path": at.Harness}),
		"raw_submission": in.submission.filled(map[string]any{
			"id": spec.ID, "assignment": orNull(spec.Assignment), "user": spec.Submitter, "timestamp": submitted,
			"most_recent": nil, "test_type": in.TestType, "test_results": nil, "test_request_timestamp": submitted,
		}),
		"raw_assignment": in.assignment.filled(map[string]any{
			"name": orNull(spec.Assignment), "due": nil, "due_cutoff": nil, "hide_until": nil, "test_harness": id,
		}),
		"testables_directory": at.Submission,
		"harness_directory":   at.Harness,
		"actions":             actions,
	}
	for key, value := range in.provider {
		whole[key] = value
	}
	maps.Copy(whole, platform)
	return json.Marshal(whole)
}

// filled returns the object with defaults for missing keys.
func (o object) filled(defaults map[string]any) map[string]any {
	whole := maps.Clone(defaults)
	for key := range o {
		if o.given(key) {
			whole[key] = o[key]
		} else if _, known := whole[key]; !known {
			whole[key] = nil
		}
	}
	return whole
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

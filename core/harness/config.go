package harness

import (
	"encoding/json"
	"fmt"
	"time"

	"drover/core"
)

// Test types: which of a harness's actions a submission asks for.
const (
	TestPublic = "public"
	TestFinal  = "final"
)

// Config is a harness's settings: the object in its harness.json. Keys that drover does not know are passed to the
// harness unchanged.
type Config struct {
	// Timeout is the maximum wall time of one grading; 0 if the author set none.
	Timeout time.Duration
	// Format is that of the report: "" for the contract's, or FormatGradescope.
	Format string
	// Peer is whether the submission runs in a VM of its own, the harness in that VM's peer.
	Peer bool
	// Raw is the whole object, which the harness gets.
	Raw json.RawMessage

	actions map[string][]json.RawMessage
	stock   bool
}

// ParseConfig reads a harness.json, or returns an INVALID error.
//
// The settings are drover/timeout, drover/actions, drover/environment, drover/format and drover/peer. A harness that was
// written for Galah works unchanged: galah/… is used if drover/… is missing.
func ParseConfig(raw []byte) (Config, error) {
	c, err := parseConfig(raw)
	return c, invalid("the harness's configuration", err)
}

func parseConfig(raw []byte) (Config, error) {
	members, err := parseObject(raw)
	if err != nil {
		return Config{}, err
	}
	c := Config{Raw: raw, actions: map[string][]json.RawMessage{}}
	if c.Timeout, err = members.timeout(); err != nil {
		return Config{}, err
	}
	if c.Format, err = members.text("drover/format"); err != nil {
		return Config{}, err
	}
	if c.Format != "" && c.Format != FormatGradescope {
		return Config{}, fmt.Errorf("has a \"drover/format\" %q: it can be %s", shorten(c.Format, maxQuoted), FormatGradescope)
	}
	if c.Peer, err = members.yes("drover/peer"); err != nil {
		return Config{}, err
	}
	if key := members.setting("environment"); key != "" {
		if _, err := parseObject(members[key]); err != nil {
			return Config{}, fmt.Errorf("has a %q that %w", key, err)
		}
	}
	key := members.setting("actions")
	if key == "" {
		return c, nil
	}
	kinds, err := parseObject(members[key])
	if err != nil {
		return Config{}, fmt.Errorf("has a %q that %w", key, err)
	}
	for _, kind := range []string{TestPublic, TestFinal} {
		if c.actions[kind], err = kinds.list(kind); err != nil {
			return Config{}, fmt.Errorf("has a %q that %w", key, err)
		}
	}
	return c, nil
}

// Actions returns the actions for a submission of the test type: the public ones, and for a final submission the
// final ones as well. Never nil.
func (c Config) Actions(testType string) []json.RawMessage {
	actions := append([]json.RawMessage{}, c.actions[TestPublic]...)
	if testType == TestFinal {
		actions = append(actions, c.actions[TestFinal]...)
	}
	return actions
}

// setting returns the key under which a setting is given, or "".
func (o object) setting(name string) string {
	for _, key := range []string{"drover/" + name, "galah/" + name} {
		if o.given(key) {
			return key
		}
	}
	return ""
}

func (o object) timeout() (time.Duration, error) {
	key := o.setting("timeout")
	if key == "" {
		return 0, nil
	}
	seconds, err := score(o[key])
	if err != nil {
		return 0, fmt.Errorf("has a %q that %w", key, err)
	}
	limit := time.Duration(seconds * float64(time.Second))
	if seconds > core.MaxTimeout.Seconds() || limit <= 0 {
		return 0, fmt.Errorf("has a %q of %g: it must be above 0 and at most %g seconds",
			key, seconds, core.MaxTimeout.Seconds())
	}
	return limit, nil
}

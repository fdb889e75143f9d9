// Package bounds limits the size of records in a result store and checks them, the same for every store: what one
// accepts, the others accept too.
package bounds

import (
	"encoding/json"

	"drover/core"
)

// The bounds.
const (
	MaxResultBytes = 4 << 20  // encoded result, without its output
	MaxRefused     = 16       // refused results kept of one generation; later ones are answered but not kept
	AttemptOutput  = 16 << 10 // bytes of each stream in the history; more are kept of an accepted result only
	MaxStates      = 16       // states that a filter may name
	MaxRows        = 1000     // rows of one page of List
	DefaultRows    = 50       // rows of a page without a limit
	MaxPage        = 10_000   // specs or tasks of one page
)

// Spec returns the encoding of a new request. It checks only what a store relies on: core/requests/intake has checked
// the rest. Returns INVALID.
func Spec(s core.Spec) ([]byte, error) {
	if err := core.CheckName("request id", s.ID); err != nil {
		return nil, err
	}
	if s.Generation != 1 {
		return nil, core.Errorf(core.CodeInvalid, s.ID, "a new request is of generation 1, not %d", s.Generation)
	}
	doc, err := json.Marshal(s)
	return doc, core.Wrap(err, core.CodeInvalid, s.ID, "request %s cannot be written as JSON", s.ID)
}

// Result checks a result and returns its encoding without its output, which a store keeps separately as bytes.
// Returns INVALID or LIMIT.
func Result(r core.Result) ([]byte, error) {
	if !r.State.Terminal() {
		return nil, core.Errorf(core.CodeInvalid, r.ID, "state %q of request %s is not an end", r.State, r.ID)
	}
	if most := max(len(r.Stdout), len(r.Stderr)); most > core.MaxOutputBytes {
		return nil, core.Errorf(core.CodeLimit, r.ID, "request %s has an output of %d bytes, at most %d are kept", r.ID, most, core.MaxOutputBytes)
	}
	r.Stdout, r.Stderr = "", ""
	doc, err := json.Marshal(r)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, r.ID, "the result of request %s cannot be written as JSON", r.ID)
	}
	if len(doc) > MaxResultBytes {
		return nil, core.Errorf(core.CodeLimit, r.ID, "request %s has a result of %d bytes beside its output, at most %d are kept", r.ID, len(doc), MaxResultBytes)
	}
	return doc, nil
}

// Origin names the origin of a result, so that a repeat of it is recognized. That is the claim, by token and VM: a
// token alone may occur twice, because each owner counts its own. A result without a claim (cancelled or timed out
// while it waited) is named by its state.
func Origin(r core.Result) string {
	if r.Token == "" {
		return "state " + string(r.State)
	}
	return r.Token + " " + r.VM
}

// Cut shortens the output of a result to the part that the history shows.
func Cut(r core.Result) core.Result {
	for _, stream := range []*string{&r.Stdout, &r.Stderr} {
		if len(*stream) > AttemptOutput {
			*stream, r.Truncated = (*stream)[:AttemptOutput], true
		}
	}
	return r
}

// Filter checks a filter and returns the number of rows that it selects. Returns INVALID.
func Filter(f core.Filter) (int, error) {
	if len(f.States) > MaxStates {
		return 0, core.Errorf(core.CodeInvalid, "", "a list may be narrowed to at most %d states, not %d", MaxStates, len(f.States))
	}
	if f.Idempotency != "" && f.Submitter == "" {
		return 0, core.Errorf(core.CodeInvalid, "", "a request is looked for by its idempotency key without its submitter: name that too")
	}
	return rows(f.Limit)
}

// rows returns the number of rows for a limit; 0 is the default. Returns INVALID.
func rows(limit int) (int, error) {
	if limit == 0 {
		return DefaultRows, nil
	}
	return limit, within(limit, MaxRows)
}

// Rows checks the limit of a list whose rows may be large. Returns INVALID.
func Rows(limit int) error { return within(limit, MaxRows) }

// Page checks the limit of a list. Returns INVALID.
func Page(limit int) error { return within(limit, MaxPage) }

func within(limit, most int) error {
	if limit < 1 || limit > most {
		return core.Errorf(core.CodeInvalid, "", "limit %d must be between 1 and %d", limit, most)
	}
	return nil
}

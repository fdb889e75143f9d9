package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"drover/core"
)

// A tag has the revision of a thing and, after a dash, a hash of the answer: the same revision may look different to
// two users. So If-Match compares the revision only, and If-None-Match the whole tag.

// Reading is what operations take that read a thing with a revision.
type Reading struct {
	IfNoneMatch string `header:"If-None-Match" maxLength:"1000" doc:"ETag of a known revision: the answer is 304 if it is unchanged"`
}

// Changing is what operations take that change a thing with a revision.
type Changing struct {
	IfMatch string `header:"If-Match" maxLength:"1000" doc:"ETag of the revision read: the answer is 412 if it has changed since; without it the current revision is changed"`
}

// tagged is the answer with a thing that has a revision.
type tagged[T any] struct {
	Status   int
	ETag     string `header:"ETag" doc:"identifies the revision, for If-Match and If-None-Match"`
	Location string `header:"Location" doc:"URL of the created object"`
	Body     T
}

// tag returns the tag of a revision in an answer.
func tag(revision int64, told any) string {
	raw, err := json.Marshal(told)
	if err != nil {
		return "" // it cannot be answered either
	}
	sum := sha256.Sum256(raw)
	return `"` + strconv.FormatInt(revision, 10) + "-" + hex.EncodeToString(sum[:8]) + `"`
}

// read answers with a thing, or 304.
func read[T any](in Reading, revision int64, thing T) *tagged[T] {
	out := &tagged[T]{ETag: tag(revision, thing), Body: thing, Status: http.StatusOK}
	for one := range strings.SplitSeq(in.IfNoneMatch, ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == "*" || one != "" && one == out.ETag {
			out.Status = http.StatusNotModified
		}
	}
	return out
}

// made answers with a new thing, and its location.
func made[T any](revision int64, thing T, location ...string) *tagged[T] {
	return &tagged[T]{ETag: tag(revision, thing), Location: at(location...), Body: thing, Status: http.StatusCreated}
}

// matches reports whether If-Match allows the change of a revision.
func (c Changing) matches(revision int64) bool {
	if strings.TrimSpace(c.IfMatch) == "" {
		return true
	}
	for one := range strings.SplitSeq(c.IfMatch, ",") {
		one = strings.TrimSpace(one)
		number, _, _ := strings.Cut(strings.Trim(one, `"`), "-")
		if one == "*" || strings.HasPrefix(one, `"`) && number == strconv.FormatInt(revision, 10) {
			return true
		}
	}
	return false
}

// versioned is a thing that changes by revisions.
type versioned[T any] struct {
	view   func(ctx context.Context) (T, error)
	of     func(*T) int64 // its revision
	change func(ctx context.Context, now T) (T, error)
}

// apply changes a thing if its revision agrees with If-Match, and otherwise refuses with 412. Without If-Match the
// last change wins, except that concurrent changes conflict.
func apply[T any](ctx context.Context, in Changing, v versioned[T]) (*tagged[T], error) {
	now, err := v.view(ctx)
	if err != nil {
		return nil, err
	}
	before := v.of(&now)
	if !in.matches(before) {
		return nil, changed(before)
	}
	after, err := v.change(ctx, now)
	if core.Is(err, core.CodeConflict) && in.IfMatch != "" {
		if now, seen := v.view(ctx); seen == nil && v.of(&now) != before {
			return nil, changed(v.of(&now))
		}
	}
	if err != nil {
		return nil, err
	}
	return &tagged[T]{Status: http.StatusOK, ETag: tag(v.of(&after), after), Body: after}, nil
}

func changed(revision int64) *Problem {
	return newProblem(http.StatusPreconditionFailed, core.Errorf(core.CodeStale, "",
		"it has changed meanwhile and is of revision %d now: read it again, and change what was read", revision))
}

// at is a path of the API, each part escaped.
func at(location ...string) string {
	path := strings.Builder{}
	for _, one := range location {
		path.WriteString("/" + url.PathEscape(one))
	}
	if path.Len() == 0 {
		return ""
	}
	return Prefix + path.String()
}

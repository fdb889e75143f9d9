package bounds

import (
	"bytes"
	"cmp"
	"encoding/json"
	"mime"
	"strings"
	"unicode"

	"drover/core"
)

// The bounds of tasks.
const (
	MaxTaskArgs     = 32 << 10 // a task's arguments, as compact JSON
	MaxUnique       = 256      // a task's unique key
	MaxNote         = 4 << 10  // a task's note, and the text of one of its failures
	MaxProgressText = 256      // the text of a task's progress
	MaxDownloadName = 255      // the name of a file that a task made
	maxMediaType    = 127
)

// Task checks a new task and returns its encoding. Returns INVALID or LIMIT.
func Task(t core.Task) ([]byte, error) {
	t.State = cmp.Or(t.State, core.TaskQueued)
	switch {
	case t.Generation != 1:
		return nil, core.Errorf(core.CodeInvalid, t.ID, "a new task is of generation 1, not %d", t.Generation)
	case t.State != core.TaskQueued || t.Ended != 0 || t.Note != "" || t.Progress != nil || len(t.Failures) > 0 || t.Download != nil:
		return nil, core.Errorf(core.CodeInvalid, t.ID, "task %s is new and has an end, progress or failures: leave them out", t.ID)
	}
	if err := cmp.Or(
		names("task id", t.ID), order(t.ID, t.Kind, t.Args, t.Priority),
		optional("lane", t.Lane), optional("requester", t.Requester), optional("parent", t.Parent),
		about(t.ID, t.About), notify(t.ID, t.Notify), utf8Within(t.ID, "unique key", t.Unique, MaxUnique), times(t.ID, t.Created, t.NotBefore),
	); err != nil {
		return nil, err
	}
	if t.Parent == t.ID {
		return nil, core.Errorf(core.CodeInvalid, t.ID, "task %s cannot be a part of itself", t.ID)
	}
	return EncodeTask(t)
}

// EncodeTask encodes a task.
func EncodeTask(t core.Task) ([]byte, error) {
	doc, err := json.Marshal(t)
	return doc, core.Wrap(err, core.CodeInvalid, t.ID, "task %s cannot be written as JSON", t.ID)
}

// SameTask reports whether a new task is the existing one of its id: kind, arguments and requester. Times and result
// do not count.
func SameTask(there, t core.Task) bool {
	there.Generation, there.Created, there.NotBefore = t.Generation, t.Created, t.NotBefore
	there.State, there.Ended, there.Note = t.State, t.Ended, t.Note
	there.Progress, there.Failures, there.Download = t.Progress, t.Failures, t.Download
	a, err := EncodeTask(there)
	b, other := EncodeTask(t)
	return err == nil && other == nil && bytes.Equal(a, b)
}

// order checks what a task or schedule is to do. Returns INVALID or LIMIT.
func order(id, kind string, args json.RawMessage, priority core.Priority) error {
	// Kinds are named like functions, with underscores.
	if err := core.CheckName("task kind", strings.ReplaceAll(kind, "_", "-")); err != nil {
		return err
	}
	if priority != "" && !priority.Valid() {
		return core.Errorf(core.CodeInvalid, id, "%s has the class %.40q: use high, normal or low", id, priority)
	}
	if len(args) == 0 {
		return nil
	}
	doc, err := json.Marshal(args) // as it will be stored
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, id, "the arguments of %s are not JSON", id)
	}
	if len(doc) > MaxTaskArgs {
		return core.Errorf(core.CodeLimit, id, "%s has arguments of %d bytes, at most %d are allowed", id, len(doc), MaxTaskArgs)
	}
	return nil
}

// optional checks a name that may be left out. Returns INVALID.
func optional(kind, name string) error {
	if name == "" {
		return nil
	}
	return core.CheckName(kind, name)
}

// about checks what a task is about: nothing, a class, or an assignment. Returns INVALID.
func about(id, s string) error {
	class, assignment, of := strings.Cut(s, "/")
	if s == "" || core.ValidName(class) && (!of || core.ValidName(assignment)) {
		return nil
	}
	return core.Errorf(core.CodeInvalid, id, "%s is about %.140q: name a class, or an assignment as class/assignment", id, s)
}

// notify checks the webhooks notified of an end. Returns INVALID or LIMIT.
func notify(id string, webhooks []string) error {
	if len(webhooks) > core.MaxNotify {
		return core.Errorf(core.CodeLimit, id, "%s names %d webhooks, at most %d are told of one end", id, len(webhooks), core.MaxNotify)
	}
	for _, webhook := range webhooks {
		if err := core.CheckName("webhook", webhook); err != nil {
			return err
		}
	}
	return nil
}

// TaskEnd checks a task's end. Returns INVALID or LIMIT.
func TaskEnd(e core.TaskEnd) error {
	if !e.State.Terminal() {
		return core.Errorf(core.CodeInvalid, e.ID, "state %q of task %s is not an end", e.State, e.ID)
	}
	if p := e.Progress; p != nil {
		if p.Done < 0 || p.Total < 0 {
			return core.Errorf(core.CodeInvalid, e.ID, "task %s cannot be at %d of %d", e.ID, p.Done, p.Total)
		}
		if err := utf8Within(e.ID, "progress", p.Text, MaxProgressText); err != nil {
			return err
		}
	}
	return cmp.Or(utf8Within(e.ID, "note", e.Note, MaxNote), download(e.ID, e.Download))
}

// download checks the file that a task made. Returns INVALID or LIMIT.
func download(id string, d *core.Download) error {
	if d == nil {
		return nil
	}
	if err := utf8Within(id, "download's name", d.Name, MaxDownloadName); err != nil {
		return err
	}
	unfit := func(r rune) bool { return r == '/' || r == '\\' || unicode.IsControl(r) }
	if d.Name == "" || d.Name == "." || d.Name == ".." || strings.ContainsFunc(d.Name, unfit) {
		return core.Errorf(core.CodeInvalid, id, "the download of task %s cannot be named %q: use a file name of plain text without slashes", id, d.Name)
	}
	if _, _, err := mime.ParseMediaType(d.Type); err != nil || len(d.Type) > maxMediaType {
		return core.Errorf(core.CodeInvalid, id, "the download of task %s has the type %.140q: use one such as application/zip", id, d.Type)
	}
	if _, sum, err := core.ParseImageRef("download@" + d.Digest); err != nil || sum == "" || d.Size < 0 || d.Expires < 1 {
		return core.Errorf(core.CodeInvalid, id, "the download of task %s has the digest %.80q, %d bytes and the expiry %d, which cannot be", id, d.Digest, d.Size, d.Expires)
	}
	return nil
}

// TaskFailure checks a failure. Returns INVALID or LIMIT.
func TaskFailure(id string, f core.TaskFailure) error {
	if f.Attempt < 1 || f.At < 0 {
		return core.Errorf(core.CodeInvalid, id, "a failure of task %s names attempt %d at %d ms, which cannot be", id, f.Attempt, f.At)
	}
	return utf8Within(id, "failure", f.Text, MaxNote)
}

// TaskFilter checks a filter and returns the number of tasks that it selects. Returns INVALID.
func TaskFilter(f core.TaskFilter) (int, error) {
	if len(f.States) > MaxStates {
		return 0, core.Errorf(core.CodeInvalid, "", "a list may be narrowed to at most %d states, not %d", MaxStates, len(f.States))
	}
	return rows(f.Limit)
}

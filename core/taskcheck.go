package core

import (
	"cmp"
	"encoding/json"
	"strings"
	"unicode"
)

// The bounds of tasks.
const (
	MaxTaskArgs     = 32 << 10 // a task's arguments, written without blanks
	MaxUnique       = 256      // a task's unique key
	MaxNote         = 4 << 10  // a task's note, and what one of its failures says
	MaxProgressText = 256      // what a task is at
	MaxDownloadName = 255      // the name of a file that a task made
	maxMediaType    = 127
)

// Check checks a task that is new. Returns INVALID or LIMIT.
func (t *Task) Check() error {
	switch {
	case t.Generation != 1:
		return Errorf(CodeInvalid, t.ID, "a new task is of generation 1, not %d", t.Generation)
	case t.State != "" && t.State != TaskQueued || t.Ended != 0 || t.Note != "" || t.Progress != nil || len(t.Failures) > 0 || t.Download != nil:
		return Errorf(CodeInvalid, t.ID, "task %s is new and has an end, progress or failures: leave them out", t.ID)
	}
	if err := cmp.Or(
		CheckNames("task id", t.ID), checkOrder(t.ID, t.Kind, t.Args, t.Priority),
		CheckOptional("lane", t.Lane), CheckOptional("requester", t.Requester), CheckOptional("parent", t.Parent),
		checkAbout(t.ID, t.About), checkNotify(t.ID, t.Notify), checkUTF8(t.ID, "unique key", t.Unique, MaxUnique), CheckTimes(t.ID, t.Created, t.NotBefore),
	); err != nil {
		return err
	}
	if t.Parent == t.ID {
		return Errorf(CodeInvalid, t.ID, "task %s cannot be a part of itself", t.ID)
	}
	return nil
}

// checkOrder checks what a task or schedule asks for. Returns INVALID or LIMIT.
func checkOrder(id, kind string, args json.RawMessage, priority Priority) error {
	// Kinds are named as functions are: with underscores.
	if err := CheckName("task kind", strings.ReplaceAll(kind, "_", "-")); err != nil {
		return err
	}
	if priority != "" && !priority.Valid() {
		return Errorf(CodeInvalid, id, "%s has the priority %.40q: use high, normal or low", id, priority)
	}
	if len(args) == 0 {
		return nil
	}
	doc, err := json.Marshal(args) // as it will be kept
	if err != nil {
		return Wrap(err, CodeInvalid, id, "the arguments of %s are not JSON", id)
	}
	if len(doc) > MaxTaskArgs {
		return Errorf(CodeLimit, id, "%s has arguments of %d bytes, at most %d are allowed", id, len(doc), MaxTaskArgs)
	}
	return nil
}

// checkAbout checks what a task is about: nothing, a class, or an assignment there. Returns INVALID.
func checkAbout(id, s string) error {
	class, assignment, of := strings.Cut(s, "/")
	if s == "" || ValidName(class) && (!of || ValidName(assignment)) {
		return nil
	}
	return Errorf(CodeInvalid, id, "%s is about %.140q: name a class, or an assignment as class/assignment", id, s)
}

// checkNotify checks the webhooks that are told of an end. Returns INVALID or LIMIT.
func checkNotify(id string, webhooks []string) error {
	if len(webhooks) > MaxNotify {
		return Errorf(CodeLimit, id, "%s names %d webhooks, at most %d are told of one end", id, len(webhooks), MaxNotify)
	}
	for _, webhook := range webhooks {
		if err := CheckName("webhook", webhook); err != nil {
			return err
		}
	}
	return nil
}

// Check returns INVALID or LIMIT.
func (e TaskEnd) Check() error {
	if !e.State.Terminal() {
		return Errorf(CodeInvalid, e.ID, "state %q of task %s is not an end", e.State, e.ID)
	}
	if p := e.Progress; p != nil {
		if p.Done < 0 || p.Total < 0 {
			return Errorf(CodeInvalid, e.ID, "task %s cannot be at %d of %d", e.ID, p.Done, p.Total)
		}
		if err := checkUTF8(e.ID, "progress", p.Text, MaxProgressText); err != nil {
			return err
		}
	}
	return cmp.Or(checkUTF8(e.ID, "note", e.Note, MaxNote), checkDownload(e.ID, e.Download))
}

// checkDownload checks what a task made. Returns INVALID or LIMIT.
func checkDownload(id string, d *Download) error {
	if d == nil {
		return nil
	}
	if err := checkUTF8(id, "download's name", d.Name, MaxDownloadName); err != nil {
		return err
	}
	unfit := func(r rune) bool { return r == '/' || r == '\\' || unicode.IsControl(r) }
	if d.Name == "" || d.Name == "." || d.Name == ".." || strings.ContainsFunc(d.Name, unfit) {
		return Errorf(CodeInvalid, id, "the download of task %s cannot be named %q: use a file name of plain text without slashes", id, d.Name)
	}
	notASCII := func(r rune) bool { return r < ' ' || r > '~' } // it becomes a header
	if !strings.Contains(d.Type, "/") || strings.ContainsFunc(d.Type, notASCII) || len(d.Type) > maxMediaType {
		return Errorf(CodeInvalid, id, "the download of task %s has the type %.140q: use one such as application/zip", id, d.Type)
	}
	if _, sum, err := ParseImageRef("download@" + d.Digest); err != nil || sum == "" || d.Size < 0 || d.Expires < 1 {
		return Errorf(CodeInvalid, id, "the download of task %s has the digest %.80q, %d bytes and the expiry %d, which cannot be", id, d.Digest, d.Size, d.Expires)
	}
	return nil
}

package student

import (
	"crypto/rand"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"drover/core"
	"drover/core/requests"
	"drover/core/requests/intake"
	"drover/web/page"
	"drover/web/transfer"
)

// Fields of the form that requests a run, besides those of transfer.
const (
	fieldPool    = "pool"
	fieldCommand = "command"
	fieldStdin   = "stdin"
	fieldCollect = "collect"
	fieldTimeout = "timeout"
)

// How a typed command is run.
const (
	shell      = "sh"
	shellReads = "-c"
)

// ask is the form that requests a run.
type ask struct {
	Key   string            // idempotency key: sending the form twice makes one request
	Pools []string          // to choose from
	Typed map[string]string // by the fields' names
	Keep  bool              // do not unpack archives
	Limit string            // on files, in words
}

func (d *student) ask(r *page.Request) error {
	a, err := d.readAsk(r, nil)
	if err != nil {
		return err
	}
	return r.Render("student/ask", a)
}

func (d *student) readAsk(r *page.Request, typed map[string]string) (ask, error) {
	pools, err := d.deps.Requests.Pools(r.Context(), r.Actor())
	return ask{Key: rand.Text(), Pools: pools, Typed: typed, Keep: typed[transfer.FieldArchives] == transfer.Keep, Limit: r.N(core.MaxFiles, "At most %d file.", "At most %d files.")}, err
}

// askFor requests a run. Files are passed on as they arrive.
func (d *student) askFor(r *page.Request) error {
	body := transfer.Bounded(r.W, r.Body, nil)
	f, err := transfer.Read(body, r.Header.Get("Content-Type"))
	var draft requests.Draft
	var typed map[string]string
	if err == nil {
		typed = f.Fields
		draft, err = readDraft(f)
	}
	var v requests.View
	if err == nil {
		v, _, err = d.deps.Requests.Submit(r.Context(), r.Actor(), draft)
	}
	if err == nil {
		return r.Redirect(path("requests", v.ID), r.T("Requested."))
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(body, drained))
	a, unseen := d.readAsk(r, typed)
	if unseen != nil {
		return unseen
	}
	return r.Again(err, "student/ask", a)
}

// readDraft reads what was typed.
func readDraft(f *transfer.Form) (requests.Draft, error) {
	typed := make(map[string]string, len(f.Fields)) // browsers end lines with CR LF
	for name, value := range f.Fields {
		typed[name] = strings.ReplaceAll(value, "\r\n", "\n")
	}
	draft := requests.Draft{
		Pool: typed[fieldPool], Idempotency: typed[fieldKey], Files: brought(typed[fieldStdin], f),
		Collect: slices.Collect(strings.FieldsSeq(typed[fieldCollect])),
	}
	command := strings.TrimSpace(typed[fieldCommand])
	if command == "" {
		return draft, core.Errorf(core.CodeInvalid, "", "there is no command: type one, such as: python3 main.py")
	}
	draft.Command = []string{shell, shellReads, command}
	if s := strings.TrimSpace(typed[fieldTimeout]); s != "" {
		n, err := strconv.ParseUint(s, 10, 31)
		if err != nil || n == 0 {
			return draft, core.Errorf(core.CodeInvalid, "", "the time limit %.20q is not a number of seconds above 0", s)
		}
		draft.Limits.Timeout = time.Duration(n) * time.Second
	}
	return draft, nil
}

// brought yields the files of a request, the typed standard input first.
func brought(stdin string, f *transfer.Form) iter.Seq2[intake.Upload, error] {
	return func(yield func(intake.Upload, error) bool) {
		if stdin != "" && !yield(intake.Upload{Part: intake.PartStdin, Content: strings.NewReader(stdin)}, nil) {
			return
		}
		f.Files()(yield)
	}
}

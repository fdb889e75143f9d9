package judge0

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"drover/core"
)

const (
	maxCollected  = 4 << 20  // bytes read of one file that a run left
	maxAttachment = 64 << 20 // bytes
)

// collectedFiles are what the script left, by name.
type collectedFiles map[string][]byte

func (d *API) show(w http.ResponseWriter, r *http.Request, c *call) error {
	shown, err := d.shown(r.Context(), c, r.PathValue("token"))
	if err != nil {
		return err
	}
	d.answer(w, http.StatusOK, shown)
	return nil
}

// showBatch returns many submissions; null for one that does not exist.
func (d *API) showBatch(w http.ResponseWriter, r *http.Request, c *call) error {
	text := strings.TrimSpace(r.URL.Query().Get("tokens"))
	var tokens []string
	if text != "" {
		tokens = strings.Split(text, ",")
	}
	if err := d.batchSize(len(tokens)); err != nil {
		return err
	}
	if err := d.gate.Calls(r.Context(), c.who, len(tokens)-1); err != nil {
		return err
	}
	all := make([]map[string]any, len(tokens))
	for i, token := range tokens {
		one, err := d.shown(r.Context(), c, token)
		if err != nil && !core.Is(err, core.CodeNotFound) {
			return err
		}
		all[i] = one
	}
	d.answer(w, http.StatusOK, map[string]any{"submissions": all})
	return nil
}

func (d *API) batchSize(n int) error {
	switch {
	case n == 0:
		return refuse("there should be at least one submission in a batch")
	case n > d.own.MaxBatch:
		return refuse("number of submissions in a batch should be less than or equal to " + short(float64(d.own.MaxBatch)))
	}
	return nil
}

// remove cancels a submission that has not ended. An ended one is deleted after the pool's retention.
func (d *API) remove(w http.ResponseWriter, r *http.Request, c *call) error {
	row, err := d.find(r.Context(), c, r.PathValue("token"))
	if err != nil {
		return err
	}
	if row.State.Terminal() {
		return refuse("delete not allowed")
	}
	if _, err := d.requests.Cancel(r.Context(), c.who.Actor, row.Spec.ID); err != nil {
		return err
	}
	c.base64 = true
	return d.show(w, r, c)
}

// find returns a request that was made by this compatible API.
func (d *API) find(ctx context.Context, c *call, token string) (core.Row, error) {
	none := core.Errorf(core.CodeNotFound, "", "there is no submission %.80q", token)
	if !core.ValidName(token) {
		return core.Row{}, none
	}
	row, err := d.requests.Row(ctx, c.who.Actor, token)
	if core.Is(err, core.CodeForbidden) || core.Is(err, core.CodeNotFound) || err == nil && !ours(&row.Spec) {
		return core.Row{}, none
	}
	return row, err
}

// shown returns the requested fields of a submission.
func (d *API) shown(ctx context.Context, c *call, token string) (map[string]any, error) {
	row, err := d.find(ctx, c, token)
	if err != nil {
		return nil, err
	}
	if err := d.reads.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer d.reads.Release(1)
	v, err := reader{d.requests.Blobs}.view(ctx, &row, slices.ContainsFunc(c.fields, ofAttachment))
	if err != nil {
		return nil, err
	}
	if l := d.known[v.language()]; l != nil {
		v.name = l.Name
	}
	return v.fields(c.fields, c.base64)
}

// reader reads the stored data of submissions.
type reader struct{ blobs core.Blobs }

// view returns the state of a submission; with whole, also what was submitted.
func (d reader) view(ctx context.Context, row *core.Row, whole bool) (view, error) {
	v := view{row: row}
	var err error
	if row.State.Terminal() || whole {
		if v.sub, err = d.attachment(ctx, &row.Spec); err != nil {
			return v, err
		}
	}
	switch {
	case row.State.Terminal() && row.Result == nil:
		return v, core.Errorf(core.CodeInternal, row.Spec.ID, "request %s has no result", row.Spec.ID)
	case row.State.Terminal() && row.Result.Expired > 0:
		return v, core.Errorf(core.CodeNotFound, row.Spec.ID, "what became of submission %s has been deleted by its age", row.Spec.ID)
	case row.State.Terminal():
		files, err := d.collected(ctx, row.Result)
		if err != nil {
			return v, err
		}
		v.outcome, err = v.sub.ended(row.Result, files)
		return v, err
	case row.State == core.RequestQueued || row.State == core.RequestParked:
		v.outcome.status = inQueue
	default:
		v.outcome.status = processing
	}
	return v, nil
}

func (d reader) attachment(ctx context.Context, spec *core.Spec) (*submission, error) {
	text, err := d.open(ctx, spec.Attachment.Digest, maxAttachment)
	if err != nil {
		return nil, err
	}
	s := &submission{}
	return s, core.Wrap(json.Unmarshal(text, s), core.CodeInternal, spec.ID, "what submission %s was made of cannot be read", spec.ID)
}

// collected reads what the script left.
func (d reader) collected(ctx context.Context, r *core.Result) (collectedFiles, error) {
	files := collectedFiles{}
	for _, f := range r.Files {
		if path.Dir(f.Path) != folder {
			continue
		}
		text, err := d.open(ctx, f.Digest, maxCollected)
		if err != nil {
			return nil, err
		}
		files[path.Base(f.Path)] = text
	}
	return files, nil
}

// open reads the beginning of a blob.
func (d reader) open(ctx context.Context, digest string, most int64) ([]byte, error) {
	in, err := d.blobs.Open(ctx, digest)
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, digest, "a file of the submission cannot be read")
	}
	defer in.Close() //nolint:errcheck // only read from
	text, err := io.ReadAll(io.LimitReader(in, most))
	return text, core.Wrap(err, core.CodeUnavailable, digest, "a file of the submission cannot be read")
}

// view is a submission in an answer.
type view struct {
	row     *core.Row
	sub     *submission // nil if none of its fields are requested
	outcome outcome
	name    string // of the language
}

func (v *view) language() int {
	if v.sub == nil {
		return 0
	}
	return v.sub.Language
}

// defaultFields are returned if none are requested.
func defaultFields() []string {
	return []string{"token", "time", "memory", "stdout", "stderr", "compile_output", "message", "status"}
}

// fieldsOfSubmission are those that need the attachment.
func fieldsOfSubmission() []string {
	return []string{
		"source_code", "language_id", "language", "compiler_options", "command_line_arguments", "stdin", "expected_output", "cpu_time_limit", "cpu_extra_time",
		"wall_time_limit", "memory_limit", "stack_limit", "max_processes_and_or_threads", "enable_per_process_and_thread_time_limit",
		"enable_per_process_and_thread_memory_limit", "max_file_size", "redirect_stderr_to_stdout", "enable_network", "number_of_runs", "additional_files", "callback_url",
	}
}

func ofAttachment(field string) bool { return slices.Contains(fieldsOfSubmission(), field) }

func allFields() []string {
	own := []string{"status_id", "exit_code", "exit_signal", "wall_time", "created_at", "finished_at"}
	return slices.Concat(fieldsOfSubmission(), defaultFields(), own)
}

// requested reads the parameter fields.
func requested(text string) ([]string, error) {
	if text == "" {
		return defaultFields(), nil
	}
	all := allFields()
	var fields, unknown []string
	for field := range strings.SplitSeq(text, ",") {
		switch {
		case field == "*":
			fields = all
		case slices.Contains(all, field):
			fields = append(fields, field)
		default:
			unknown = append(unknown, field)
		}
	}
	if len(unknown) > 0 {
		list := strings.Join(unknown, ", ")
		return nil, refuse("invalid fields: [" + list[:min(len(list), 200)] + "]")
	}
	return fields, nil
}

var errNoText = errors.New("not UTF-8")

// fields makes the answer.
func (v *view) fields(names []string, encoded bool) (map[string]any, error) {
	shown := make(map[string]any, len(names))
	for _, field := range names {
		value, err := v.field(field, encoded)
		if errors.Is(err, errNoText) {
			return nil, refuse(
				"some attributes for this submission cannot be converted to UTF-8, use base64_encoded=true query parameter")
		}
		shown[field] = value
	}
	return shown, nil
}

func (v *view) field(name string, encoded bool) (any, error) {
	if ofAttachment(name) {
		return v.made(name, encoded)
	}
	o := &v.outcome
	switch name {
	case "token":
		return v.row.Spec.ID, nil
	case "status":
		return status{o.status, statusNames()[o.status-1]}, nil
	case "status_id":
		return o.status, nil
	case "stdout":
		return text(o.stdout, encoded)
	case "stderr":
		return text(o.stderr, encoded)
	case "compile_output":
		return text(o.compile, encoded)
	case "message":
		return text([]byte(o.message), encoded)
	case "exit_code":
		return o.code, nil
	case "exit_signal":
		return o.signal, nil
	case "time":
		return clock(o.cpu), nil
	case "wall_time":
		return clock(o.wall), nil
	case "memory":
		return o.memory, nil
	case "created_at":
		return moment(v.row.Spec.Submitted), nil
	default: // finished_at
		return moment(v.row.Finished), nil
	}
}

// made returns a field of what was submitted.
func (v *view) made(name string, encoded bool) (any, error) {
	s := v.sub
	switch name {
	case "language":
		return map[string]any{"id": s.Language, "name": v.name}, nil
	case "source_code":
		return text(s.Source, encoded)
	case "stdin":
		return text(s.Stdin, encoded)
	case "expected_output":
		return text(s.Expected, encoded)
	case "additional_files":
		return text(s.MoreFiles, true)
	case "compiler_options":
		return orNull(s.Options), nil
	case "command_line_arguments":
		return orNull(s.Arguments), nil
	case "callback_url":
		return orNull(s.Callback), nil
	}
	values := map[string]any{
		"language_id": s.Language, "cpu_time_limit": short(s.CPU), "cpu_extra_time": short(s.Extra), "wall_time_limit": short(s.Wall),
		"memory_limit": s.Memory, "stack_limit": s.Stack, "max_processes_and_or_threads": s.Processes, "max_file_size": s.FileSize,
		"number_of_runs": s.Runs, "redirect_stderr_to_stdout": s.MergeStderr,
	}
	if value, ok := values[name]; ok {
		return value, nil
	}
	return false, nil // features that cannot be enabled
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// text encodes bytes; none is null.
func text(b []byte, encoded bool) (any, error) {
	switch {
	case len(b) == 0:
		return nil, nil
	case encoded:
		return wrapped(b), nil
	case !utf8.Valid(b):
		return nil, errNoText
	}
	return string(b), nil
}

// wrapped is Base64 in lines of 60, as MIME had it.
func wrapped(b []byte) string {
	const width = 60
	all := base64.StdEncoding.EncodeToString(b)
	var out strings.Builder
	for line := range slices.Chunk([]byte(all), width) {
		out.Write(line)
		out.WriteByte('\n')
	}
	return out.String()
}

// clock shows seconds as a text.
func clock(s *float64) any {
	if s == nil {
		return nil
	}
	return short(float64(int64(*s*1000+0.5)) / 1000)
}

// moment shows ms since 1970.
func moment(ms int64) any {
	if ms == 0 {
		return nil
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

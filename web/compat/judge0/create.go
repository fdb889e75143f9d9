package judge0

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"drover/core"
	"drover/core/requests/intake"
	"drover/web/compat"
)

const (
	maxBody      = 8 << 20  // bytes of one submission
	maxBatchBody = 32 << 20 // bytes of a batch
)

// read reads a body of JSON.
func (d *API) read(w http.ResponseWriter, r *http.Request, c *call, most int64, into any) error {
	body, release, err := d.gate.Body(w, r, c.who, most)
	if err != nil {
		return err
	}
	defer release()
	if err := json.NewDecoder(body).Decode(into); err != nil {
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		if errors.As(err, &syntax) || errors.As(err, &kind) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return refuse("the body is not the JSON that is wanted here: " + err.Error())
		}
		return core.Wrap(err, core.CodeInvalid, "", "the body cannot be read")
	}
	return nil
}

// create makes one submission.
func (d *API) create(w http.ResponseWriter, r *http.Request, c *call) error {
	var values map[string]json.RawMessage
	if err := d.read(w, r, c, maxBody, &values); err != nil {
		return err
	}
	ctx := r.Context()
	pool, err := d.pool(ctx)
	if err != nil {
		return err
	}
	row, wrong, err := d.submit(ctx, c, values, pool, r.Header.Get("Idempotency-Key"))
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		return &refusal{status: http.StatusUnprocessableEntity, body: wrong}
	}
	if r.URL.Query().Get("wait") != "true" {
		d.answer(w, http.StatusCreated, map[string]string{"token": row.Spec.ID})
		return nil
	}
	shown, err := d.await(w, r, c, row.Spec.ID)
	if own, ok := err.(*refusal); ok && own.status == http.StatusBadRequest { //nolint:errorlint // shown's own
		d.answer(w, http.StatusCreated, map[string]any{"token": row.Spec.ID, "error": own.body.(fault).Error}) //nolint:errcheck,forcetypeassert // made by refuse
		return nil
	}
	if err != nil {
		return err
	}
	d.answer(w, http.StatusCreated, shown)
	return nil
}

// await waits for the end and returns the submission; if that takes too long, in its present state.
func (d *API) await(w http.ResponseWriter, r *http.Request, c *call, token string) (map[string]any, error) {
	if d.waits.TryAcquire(1) { // if too many wait, this call does not
		err := compat.Await(w, r, d.requests, c.who.Actor, token, d.own.MaxWait, func(row core.Row, err error) (bool, error) {
			return row.State.Terminal(), err
		})
		d.waits.Release(1)
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return d.shown(r.Context(), c, token)
}

// createBatch makes a batch of those submissions of a call that are valid; the others are answered with their faults.
func (d *API) createBatch(w http.ResponseWriter, r *http.Request, c *call) error {
	var body struct {
		Submissions []map[string]json.RawMessage `json:"submissions"`
	}
	if err := d.read(w, r, c, maxBatchBody, &body); err != nil {
		return err
	}
	if err := d.batchSize(len(body.Submissions)); err != nil {
		return err
	}
	ctx := r.Context()
	if err := d.gate.Calls(ctx, c.who, len(body.Submissions)-1); err != nil {
		return err
	}
	pool, err := d.pool(ctx)
	if err != nil {
		return err
	}
	answers := make([]any, len(body.Submissions))
	var specs []core.Spec
	var at []int // of each spec, its submission
	for i, values := range body.Submissions {
		spec, wrong, err := d.prepare(ctx, c, values, pool)
		if err != nil {
			return err
		}
		if len(wrong) > 0 {
			answers[i] = wrong
			continue
		}
		specs, at = append(specs, spec), append(at, i)
	}
	tokens, err := d.submitAll(ctx, c, specs, at, answers, r.Header.Get("Idempotency-Key"))
	if err != nil {
		return err
	}
	status := http.StatusUnprocessableEntity
	if tokens > 0 {
		status = http.StatusCreated
	}
	d.answer(w, status, answers)
	return nil
}

// submitAll submits the valid ones of the specs as one batch, all or nothing, and adds the answers for all. Returns how
// many were submitted.
func (d *API) submitAll(ctx context.Context, c *call, specs []core.Spec, at []int, answers []any, key string) (int, error) {
	faults, err := d.requests.CheckStored(ctx, c.who.Actor, specs)
	if err != nil {
		return 0, err
	}
	var good []core.Spec
	var of []int
	for i := range specs {
		if why := faults[i].First(); why != nil {
			wrong := problems{}
			wrong.add("base", "%s", why.Error())
			answers[at[i]] = wrong
			continue
		}
		good, of = append(good, specs[i]), append(of, at[i])
	}
	if len(good) == 0 {
		return 0, nil
	}
	if key != "" {
		key = "judge0/" + key
	}
	b, err := d.requests.SubmitStoredBatch(ctx, c.who.Actor, good, key)
	if err != nil {
		return 0, err
	}
	for i := range good {
		token, err := intake.JobID(b.ID, i)
		if err != nil {
			return 0, err
		}
		answers[of[i]] = map[string]string{"token": token}
	}
	return len(good), nil
}

func (d *API) pool(ctx context.Context) (core.Pool, error) {
	p, err := d.requests.Pool(ctx, d.own.Pool)
	return p, core.Wrap(err, core.CodeUnavailable, d.own.Pool, "the pool of the Judge0 API cannot be used")
}

// submit makes a request of a submission, or returns what is wrong with it.
func (d *API) submit(ctx context.Context, c *call, values map[string]json.RawMessage, p core.Pool, key string) (core.Row, problems, error) {
	if key != "" {
		key = "judge0/" + key
		if row, was, err := d.requests.Submitted(ctx, c.who.Actor, key); err != nil || was {
			return row, nil, err
		}
	}
	spec, wrong, err := d.prepare(ctx, c, values, p)
	if err != nil || len(wrong) > 0 {
		return core.Row{}, wrong, err
	}
	spec.Idempotency = key
	row, err := d.requests.SubmitStored(ctx, c.who.Actor, spec)
	if core.Is(err, core.CodeInvalid) || core.Is(err, core.CodeLimit) {
		wrong = problems{}
		wrong.add("base", "%s", err.Error())
		return core.Row{}, wrong, nil
	}
	return row, nil, err
}

// prepare stores the files of a submission and returns its request, or what is wrong with it.
func (d *API) prepare(ctx context.Context, c *call, values map[string]json.RawMessage, p core.Pool) (core.Spec, problems, error) {
	most := d.own.Limits.in(p)
	f := form{values: values, base64: c.base64, wrong: problems{}}
	s := f.submission(most)
	l := d.known[s.Language]
	s.check(l, most, f.wrong)
	d.checkCallback(&s, c, f.wrong)
	if len(f.wrong) > 0 {
		return core.Spec{}, f.wrong, nil
	}
	spec := core.Spec{
		Pool: d.own.Pool, Submitter: c.who.Actor.Handle, Command: s.command(*l, most), Collect: s.collected(), Limits: s.within(*l, most, p),
	}
	if s.Callback != "" {
		spec.Callback = Name
	}
	more, err := d.unpack(ctx, s.MoreFiles, l.Source, most.MaxExtract*1024)
	if core.Is(err, core.CodeInvalid) || core.Is(err, core.CodeLimit) {
		f.wrong.add("additional_files", "%s", err.Error())
		return core.Spec{}, f.wrong, nil
	}
	spec.Files = more
	if err == nil {
		err = d.store(ctx, &s, *l, &spec)
	}
	if core.Is(err, core.CodeInvalid) || core.Is(err, core.CodeLimit) {
		f.wrong.add("base", "%s", err.Error())
		return core.Spec{}, f.wrong, nil
	}
	return spec, nil, err
}

// store stores all files of a submission in the blob store.
func (d *API) store(ctx context.Context, s *submission, l Language, spec *core.Spec) error {
	if l.Source != "" {
		f, err := d.put(ctx, s.Source)
		if err != nil {
			return err
		}
		f.Path = l.Source
		spec.Files = append(spec.Files, f)
	}
	if len(s.Stdin) > 0 {
		f, err := d.put(ctx, s.Stdin)
		if err != nil {
			return err
		}
		spec.Stdin = &f
	}
	text, err := json.Marshal(s)
	if err != nil {
		return core.Wrap(err, core.CodeInternal, "", "the submission cannot be kept")
	}
	f, err := d.put(ctx, text)
	spec.Attachment = &f
	return err
}

func (d *API) put(ctx context.Context, content []byte) (core.File, error) {
	digest, size, err := d.requests.Blobs.Put(ctx, bytes.NewReader(content), max(int64(len(content)), 1))
	return core.File{Digest: digest, Size: size}, err
}

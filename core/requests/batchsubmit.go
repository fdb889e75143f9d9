package requests

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"drover/core"
	"drover/core/requests/intake"
)

// Job is what one job of a batch says beside what all its jobs have. What it says replaces what they have; of its
// environment, the variables of the same names.
type Job struct {
	Command  []string        `json:"command,omitempty" maxItems:"256" doc:"program and arguments of a plain command"`
	Env      []string        `json:"env,omitempty" doc:"NAME=value"`
	Stdin    string          `json:"stdin,omitempty" doc:"standard input of a plain command; what is no text or long goes into a part of the form"`
	Input    json.RawMessage `json:"input,omitempty" doc:"actions of a harness; those of its settings by default"`
	Collect  []string        `json:"collect,omitempty" maxItems:"32" doc:"files and folders of a plain command's work folder to keep with the result"`
	Priority core.Priority   `json:"priority,omitempty" enum:"high,normal,low" doc:"normal by default, or that of its type; high only for operators"`
	Limits   core.Limits     `json:"limits,omitempty" doc:"those of its type or pool by default"`
}

// BatchDraft is what a user wants to run together: what all jobs have, and what each has of its own.
type BatchDraft struct {
	Job

	Submitter  string   `json:"submitter,omitempty" maxLength:"64" doc:"user on whose behalf the batch is made, for operators; the caller by default"`
	Type       string   `json:"type,omitempty" maxLength:"64" doc:"job type, which says what is left out"`
	Pool       string   `json:"pool,omitempty" maxLength:"64" doc:"where the jobs run; that of their type by default"`
	Assignment string   `json:"assignment,omitempty" doc:"a label of the requests"`
	Notify     []string `json:"notify,omitempty" maxItems:"8" doc:"ids of webhooks to notify of the end of each request, for operators"`
	OnHostLoss string   `json:"on_host_loss,omitempty" enum:"requeue,fail" doc:"the pool's by default"`
	Jobs       []Job    `json:"jobs" minItems:"1" maxItems:"1000" doc:"the jobs, each with what it has of its own; {} for nothing"`

	Idempotency string                      `json:"-"` // the same key of the same submitter again is the same batch; "" is none
	Files       iter.Seq2[JobUpload, error] `json:"-"` // nil for none
}

// JobUpload is a file of one job, or of all.
type JobUpload struct {
	intake.Upload

	Job int // AllJobs for all
}

// AllJobs stands for all jobs of a batch.
const AllJobs = -1

// SubmitBatch requests the jobs of a batch, all or nothing. If the submitter used the same idempotency key before, it
// returns the earlier batch and false. Returns FORBIDDEN, INVALID with core.Faults that name each wrong field of each
// job, LIMIT, NOTFOUND for a type, CONFLICT if the key belongs to another batch, FULL if not all jobs have room,
// UNAVAILABLE.
func (d *Service) SubmitBatch(ctx context.Context, a core.Actor, draft BatchDraft) (BatchView, bool, error) {
	specs, err := d.drafts(a, draft)
	if err != nil {
		return BatchView{}, false, err
	}
	submitter, key := specs[0].Submitter, specs[0].Idempotency
	known, err := d.knownBatch(ctx, submitter, key)
	if err != nil {
		return BatchView{}, false, err
	}
	if !known { // what was accepted is not checked again
		if _, err := d.resolved(ctx, specs, true); err != nil {
			return BatchView{}, false, err
		}
	}
	var b core.Batch
	var created bool
	do := func() error {
		if err := d.takeAll(ctx, a, specs, draft); err != nil {
			return err
		}
		b, created, err = d.submitAll(ctx, core.Batch{Submitter: submitter, Idempotency: key, Digest: digestOf(specs), Specs: specs})
		return err
	}
	if submitter == a.Handle {
		err = do()
	} else {
		err = d.change(ctx, a, core.ActRequestCreate, submitter, fmt.Sprintf("requests a batch of %d jobs for %s", len(specs), submitter), do)
	}
	if err != nil {
		return BatchView{}, false, err
	}
	v, err := d.batchView(ctx, b)
	return v, created, err
}

// submitAll submits a batch whose files are stored.
func (d *Service) submitAll(ctx context.Context, b core.Batch) (core.Batch, bool, error) {
	for i := range b.Specs {
		b.Specs[i].Idempotency = "" // it is the batch's
	}
	if was, found, err := d.Intake.BatchAccepted(ctx, b.Submitter, b.Idempotency, b.Digest); err != nil || found {
		return was, false, err
	}
	var err error
	if b.Specs, err = d.resolved(ctx, b.Specs, false); err != nil {
		return core.Batch{}, false, err
	}
	return d.Intake.SubmitBatch(ctx, b)
}

// drafts returns the specs of a batch's jobs without files, if the actor may submit them.
func (d *Service) drafts(a core.Actor, draft BatchDraft) ([]core.Spec, error) {
	if err := intake.CheckJobs(len(draft.Jobs)); err != nil {
		return nil, err
	}
	specs := make([]core.Spec, len(draft.Jobs))
	bytes := 0
	for i, own := range draft.Jobs {
		var err error
		specs[i], err = d.draft(a, Draft{
			Submitter: draft.Submitter, Type: draft.Type, Pool: draft.Pool, Assignment: draft.Assignment, Notify: draft.Notify, OnHostLoss: draft.OnHostLoss,
			Idempotency: draft.Idempotency, Priority: cmp.Or(own.Priority, draft.Priority),
			Command: orElse(own.Command, draft.Command), Env: core.MergeEnv(draft.Env, own.Env), Input: orElse(own.Input, draft.Input),
			Collect: orElse(own.Collect, draft.Collect), Limits: own.Limits.Or(draft.Limits),
		})
		if err != nil {
			return nil, err
		}
		if bytes += textsOf(&specs[i]); bytes > core.MaxBatchBytes {
			return nil, core.Errorf(core.CodeLimit, "", "the batch has more than %d bytes beside its files once each job has what all have: put what is long into files, or make several batches",
				core.MaxBatchBytes)
		}
	}
	return specs, nil
}

// textsOf is how many bytes the texts of a spec have at least, when they are written.
func textsOf(s *core.Spec) int {
	n := len(s.Input)
	for _, texts := range [][]string{s.Command, s.Env, s.Collect} {
		for _, text := range texts {
			n += len(text) + len(`""`)
		}
	}
	return n
}

func orElse[S ~[]E, E any](own, of S) S {
	if len(own) > 0 {
		return own
	}
	return slices.Clone(of)
}

// knownBatch reports whether a submitter used an idempotency key for a batch before.
func (d *Service) knownBatch(ctx context.Context, submitter, key string) (bool, error) {
	if key == "" {
		return false, nil
	}
	found, err := d.Store.ListBatches(ctx, core.BatchFilter{Submitter: submitter, Idempotency: key, Limit: 1})
	return len(found) > 0, err
}

// resolved returns the specs filled from their type. Early means before their files are there: then a harness may still
// come. Returns INVALID with core.Faults.
func (d *Service) resolved(ctx context.Context, specs []core.Spec, early bool) ([]core.Spec, error) {
	specs = slices.Clone(specs)
	faults := make([]core.Faults, len(specs))
	if specs[0].Type != "" {
		t, err := d.typeOf(ctx, &specs[0])
		if err != nil {
			return nil, err
		}
		for i := range specs {
			faults[i] = t.Apply(&specs[i])
		}
	}
	asked := slices.Clone(specs)
	for i := range asked {
		if early && len(asked[i].Command) == 0 && asked[i].Harness == nil {
			asked[i].Command, asked[i].Input = []string{"true"}, nil
		}
	}
	_, more, err := d.Intake.CheckBatch(ctx, asked)
	if err != nil {
		return nil, err
	}
	for i := range faults {
		for _, f := range more[i] {
			if !slices.ContainsFunc(faults[i], func(one core.Fault) bool { return one.Field == f.Field }) {
				faults[i] = append(faults[i], f)
			}
		}
	}
	return specs, intake.Wrong(faults, "submitter", "type", "pool", "assignment", "notify", "on_host_loss")
}

// takeAll stores the files of a batch as they arrive.
func (d *Service) takeAll(ctx context.Context, a core.Actor, specs []core.Spec, draft BatchDraft) error {
	disk, err := d.diskOf(ctx, &specs[0])
	if err != nil {
		return err
	}
	room := roomIn(a, disk)
	stored := map[string]*core.File{} // standard inputs by their text: most jobs have the one of all
	for i, own := range draft.Jobs {
		text := cmp.Or(own.Stdin, draft.Stdin)
		if text == "" {
			continue
		}
		if stored[text] == nil {
			if _, err := d.keep(ctx, &specs[i], intake.Upload{Part: intake.PartStdin, Content: strings.NewReader(text)}, room); err != nil {
				return core.Wrap(err, core.CodeOf(err), "", "jobs[%d].stdin", i)
			}
			stored[text] = specs[i].Stdin
		}
		specs[i].Stdin = stored[text]
	}
	if draft.Files == nil {
		return nil
	}
	var of core.Spec // what all jobs have
	for u, err := range draft.Files {
		if err != nil {
			return core.Wrap(err, core.CodeOr(err, core.CodeInvalid), "", "the files of the batch cannot be read")
		}
		to := &of
		switch {
		case u.Job >= len(specs) || u.Job < AllJobs:
			return core.Errorf(core.CodeInvalid, u.Path, "a file is for job %d, but the batch has %d jobs, from 0 on", u.Job, len(specs))
		case u.Job != AllJobs:
			to = &specs[u.Job]
		}
		if _, err := d.keep(ctx, to, u.Upload, room); err != nil {
			return err
		}
	}
	for i := range specs {
		share(&specs[i], &of)
	}
	return nil
}

// share gives a job the files that all jobs have.
func share(s, of *core.Spec) {
	s.Files = append(slices.Clone(of.Files), s.Files...)
	if s.Stdin == nil {
		s.Stdin = of.Stdin
	}
	if s.Harness == nil && of.Harness != nil {
		s.Harness = of.Harness
		if s.Input == nil {
			s.Input = of.Input
		}
	}
}

// diskOf returns the room in a job's VM, in bytes.
func (d *Service) diskOf(ctx context.Context, s *core.Spec) (int64, error) {
	typed, pool := *s, s.Pool
	if s.Type != "" {
		t, err := d.typeOf(ctx, &typed)
		if core.Is(err, core.CodeNotFound) { // of a batch that was accepted before: it is only compared
			return core.DefaultPool("any").Limits.Disk, nil
		}
		if err != nil {
			return 0, err
		}
		pool = t.Pool
	}
	p, err := d.Cluster.GetPool(ctx, pool)
	if core.Is(err, core.CodeNotFound) {
		return core.DefaultPool("any").Limits.Disk, nil
	}
	return p.Limits.Disk, err
}

// digestOf returns the digest of what was asked for.
func digestOf(specs []core.Spec) string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(specs) // checked specs can be written, and a hash takes all
	return hex.EncodeToString(h.Sum(nil))
}

// CheckStored returns the faults of each of the specs of a SubmitStoredBatch.
func (d *Service) CheckStored(ctx context.Context, a core.Actor, specs []core.Spec) ([]core.Faults, error) {
	if _, err := d.draft(a, Draft{}); err != nil {
		return nil, err
	}
	_, faults, err := d.Intake.CheckBatch(ctx, specs)
	return faults, err
}

// SubmitStoredBatch is SubmitBatch for specs of the actor's whose files are in the blob store already, for programs
// that make requests from other input.
func (d *Service) SubmitStoredBatch(ctx context.Context, a core.Actor, specs []core.Spec, key string) (core.Batch, error) {
	asked, err := d.draft(a, Draft{Idempotency: key})
	if err != nil {
		return core.Batch{}, err
	}
	b, _, err := d.submitAll(ctx, core.Batch{Submitter: asked.Submitter, Idempotency: asked.Idempotency, Digest: digestOf(specs), Specs: specs})
	return b, err
}

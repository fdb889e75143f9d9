package api

import (
	"context"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/requests"
	"drover/core/requests/intake"
	"drover/core/school"
)

func batchTable() []entry {
	return []entry{
		is(Operation{opSubmitBatch, post, "/batches", core.ActRequestCreate, school.ScopeSubmit, 201, "Run many jobs, all or nothing, as multipart/form-data"}, (*server).submitBatch),
		is(Operation{"listBatches", get, "/batches", "", school.ScopeRead, 0, "List the batches that the caller may see, newest first"}, (*server).listBatches),
		is(Operation{"viewBatch", get, "/batches/{id}", core.ActRequestView, school.ScopeRead, 0, "Return a batch: its state, and how many of its requests are in which"}, (*server).viewBatch),
		is(Operation{"listBatchResults", get, "/batches/{id}/results", core.ActRequestView, school.ScopeRead, 0, "List the requests of a batch in the order of its jobs, with the beginning of their output"}, (*server).batchResults),
		is(Operation{"cancelBatch", post, "/batches/{id}/cancel", core.ActRequestControl, school.ScopeSubmit, 202, "Cancel all requests of a batch that have not ended"}, (*server).cancelBatch),
		is(Operation{"rerunBatch", post, "/batches/{id}/rerun", core.ActRequestControl, school.ScopeSubmit, 201, "Run the jobs of an ended batch again, as a new batch"}, (*server).rerunBatch),
	}
}

const (
	opSubmitBatch = "submitBatch"
	partBatch     = "batch" // the name of the part of its form that says what is requested
)

// batched is the answer with a batch.
type batched struct {
	Status   int
	Location string `header:"Location"`
	Body     requests.BatchView
}

func newBatched(v requests.BatchView, created bool) *batched {
	out := &batched{http.StatusOK, at("batches", v.ID), v}
	if created {
		out.Status = http.StatusCreated
	}
	return out
}

// KeyOfBatch is the idempotency key of a batch.
type KeyOfBatch struct {
	Key string `header:"Idempotency-Key" maxLength:"100" doc:"any text: a repeat with the same key and content returns the same batch, with 200, and creates none"`
}

func (s *server) submitBatch(ctx context.Context, a core.Actor, in *KeyOfBatch) (*batched, error) {
	form, err := s.form(ctx)
	if err != nil {
		return nil, err
	}
	draft, err := firstPart[requests.BatchDraft](s, form, partBatch, core.MaxBatchBytes, `{"pool": "p1", "command": ["true"], "jobs": [{}, {}]}`)
	if err != nil {
		return nil, err
	}
	draft.Idempotency, draft.Files = in.Key, each(form, broughtByJob)
	v, created, err := s.Requests.SubmitBatch(ctx, a, *draft)
	if err != nil {
		return nil, err
	}
	return newBatched(v, created), nil
}

// broughtByJob returns a later part of a batch's form: of all jobs, or, as jobs[3].file, of one.
func broughtByJob(part *multipart.Part) (requests.JobUpload, error) {
	name, job := part.FormName(), requests.AllJobs
	if number, own, ok := strings.Cut(strings.TrimPrefix(name, "jobs["), "]."); ok && strings.HasPrefix(name, "jobs[") {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return requests.JobUpload{}, core.Errorf(core.CodeInvalid, "", "part %.80q of the form is of no job: jobs[0].file is one of the first", name)
		}
		name, job = own, int(n)
	}
	u, err := upload(part, name, partBatch)
	return requests.JobUpload{Upload: u, Job: job}, err
}

func (s *server) listBatches(ctx context.Context, a core.Actor, in *struct {
	Cursor
	Submitter string `query:"submitter" maxLength:"64" doc:"only those of this user"`
},
) (*listed[requests.BatchView], error) {
	found, err := s.Requests.ListBatches(ctx, a, core.BatchFilter{Submitter: in.Submitter, Before: in.Cursor.Cursor, Limit: in.limit()})
	if err != nil {
		return nil, err
	}
	return listedAs(ctx, found.Items, found.Next, in.limit()), nil
}

// listedAs makes a page of items whose next cursor is known.
func listedAs[T any](ctx context.Context, items []T, next string, limit int) *listed[T] {
	out := &listed[T]{Body: Page[T]{Items: items, Next: next}}
	if next != "" {
		out.Link = nextLink(ctx, next, limit)
	}
	return out
}

func (s *server) viewBatch(ctx context.Context, a core.Actor, in *One) (*answer[requests.BatchView], error) {
	return answered(s.Requests.ViewBatch(ctx, a, in.ID))
}

func (s *server) batchResults(ctx context.Context, a core.Actor, in *struct {
	One
	Cursor string `query:"cursor" maxLength:"9" doc:"value of next on the previous page; omit for the first page"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"maximum number of jobs on a page"`
},
) (*listed[requests.JobResult], error) {
	from := 0
	if in.Cursor != "" {
		var err error
		if from, err = strconv.Atoi(in.Cursor); err != nil {
			return nil, core.Errorf(core.CodeInvalid, in.ID, "the cursor %.20q is none: use next of the previous page", in.Cursor)
		}
	}
	found, err := s.Requests.BatchResults(ctx, a, in.ID, from, in.Limit)
	if err != nil {
		return nil, err
	}
	next := ""
	if found.Next > 0 {
		next = strconv.Itoa(found.Next)
	}
	return listedAs(ctx, found.Items, next, max(in.Limit, 1)), nil
}

func (s *server) cancelBatch(ctx context.Context, a core.Actor, in *One) (*answer[requests.BatchView], error) {
	return answered(s.Requests.CancelBatch(ctx, a, in.ID))
}

func (s *server) rerunBatch(ctx context.Context, a core.Actor, in *struct {
	One
	KeyOfBatch
},
) (*batched, error) {
	v, created, err := s.Requests.RerunBatch(ctx, a, in.ID, in.Key)
	if err != nil {
		return nil, err
	}
	return newBatched(v, created), nil
}

// input says where the fields are that an operation's service refuses by name.
func (op Operation) input() string {
	if op.ID == opSubmitBatch {
		return partBatch
	}
	return "body"
}

// faultsOf returns the faults of an input, field by field; nil if an error has none. Within is where the input is.
func faultsOf(err error, within string) []Fault {
	var found core.Faults
	if !errors.As(err, &found) {
		return nil
	}
	var all []Fault
	for _, f := range found[:min(len(found), maxFaults)] {
		all = append(all, Fault{Location: cut(fmt.Sprintf("%s.%s", within, f.Field), maxID), Message: cut(f.Err.Error(), maxDetail)})
	}
	return all
}

// upload returns a part of a form by its purpose. First is the part that says what is requested.
func upload(part *multipart.Part, purpose, first string) (intake.Upload, error) {
	switch as := intake.Part(purpose); as {
	case "file":
		return fileOf(part)
	case intake.PartStdin, intake.PartHarness:
		return intake.Upload{Part: as, Content: whole{part}}, nil
	default:
		return intake.Upload{}, core.Errorf(core.CodeInvalid, "", "part %.80q of the form is none of a request: after %s come file, %s and %s",
			part.FormName(), first, intake.PartStdin, intake.PartHarness)
	}
}

package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"strconv"

	"drover/core"
	"drover/core/requests"
)

// SubmitBatch requests the jobs of a batch, all or nothing. Files are read again if the call is repeated, so that a
// lost answer causes no second batch: the idempotency key is d's, or a new one.
func (c *Client) SubmitBatch(ctx context.Context, d requests.BatchDraft) (requests.BatchView, error) {
	says, err := json.Marshal(d)
	if err != nil {
		return requests.BatchView{}, core.Wrap(err, core.CodeInvalid, "", "the batch cannot be written as JSON")
	}
	return ask[requests.BatchView](ctx, c, call{
		method: http.MethodPost, path: []string{"batches"}, key: keyOr(d.Idempotency),
		stream: form(func(form *multipart.Writer) error { return writeBatch(form, says, d) }),
	})
}

// writeBatch writes a form of a batch's fields and files.
func writeBatch(form *multipart.Writer, says []byte, d requests.BatchDraft) error {
	part, err := form.CreateFormField("batch")
	if err == nil {
		_, err = part.Write(says)
	}
	if err != nil || d.Files == nil {
		return err
	}
	for file, err := range d.Files {
		name := cmp.Or(string(file.Part), "file")
		if file.Job != requests.AllJobs {
			name = fmt.Sprintf("jobs[%d].%s", file.Job, name)
		}
		if err == nil {
			err = writeFile(form, name, cmp.Or(file.Path, name), file.Mode, file.Content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ViewBatch returns a batch. Returns NOTFOUND.
func (c *Client) ViewBatch(ctx context.Context, id string) (requests.BatchView, error) {
	return get[requests.BatchView](ctx, c, nil, "batches", id)
}

// ListBatches lists batches that the caller may view, newest first.
func (c *Client) ListBatches(ctx context.Context, f core.BatchFilter) ([]requests.BatchView, error) {
	return list[requests.BatchView](ctx, c, []string{"batches"}, values("submitter", f.Submitter), f.Before, f.Limit)
}

// BatchResults returns the requests of a batch in the order of its jobs, from one on.
func (c *Client) BatchResults(ctx context.Context, id string, from, limit int) (requests.ResultPage, error) {
	query := values("cursor", strconv.Itoa(from), "limit", strconv.Itoa(limit))
	page, err := get[pageOf[requests.JobResult]](ctx, c, query, "batches", id, "results")
	out := requests.ResultPage{Items: page.Items}
	if err == nil && page.Next != "" {
		out.Next, err = strconv.Atoi(page.Next)
		err = core.Wrap(err, core.CodeVersion, c.Server, "the site %s and this program have different versions: it says that results go on at %.20q", c.Server, page.Next)
	}
	return out, err
}

// CancelBatch stops all requests of a batch that have not ended. It may be repeated.
func (c *Client) CancelBatch(ctx context.Context, id string) (requests.BatchView, error) {
	return post[requests.BatchView](ctx, c, nil, "batches", id, "cancel")
}

// RerunBatch runs the jobs of an ended batch again, as a new batch.
func (c *Client) RerunBatch(ctx context.Context, id, key string) (requests.BatchView, error) {
	return ask[requests.BatchView](ctx, c, call{method: http.MethodPost, path: []string{"batches", id, "rerun"}, key: keyOr(key)})
}

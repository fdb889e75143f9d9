package tango

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"drover/core"
)

const (
	maxOutput     = 16 << 20 // bytes of an output that are shown
	maxAttachment = 2 << 20  // bytes
)

// poll answers with the output of a job that has ended.
func (d *API) poll(w http.ResponseWriter, r *http.Request, c *call) error {
	ctx := r.Context()
	noted, err := d.own.Cache.Fields(ctx, outputsOf(c.who.Actor.Handle, c.lab))
	if err != nil {
		return err
	}
	none := refuse("Output file not found")
	id := noted[r.PathValue("output")]
	if id == "" {
		return none
	}
	row, err := d.requests.Row(ctx, c.who.Actor, id)
	if core.Is(err, core.CodeNotFound) || core.Is(err, core.CodeForbidden) || err == nil && row.Result == nil {
		return none
	}
	if err != nil {
		return err
	}
	text, _, err := reader{d.requests.Blobs}.output(ctx, &row)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", "attachment")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(text) //nolint:gosec // a download of plain bytes; who hung up hears nothing
	return nil
}

// reader reads what is kept of jobs.
type reader struct{ blobs core.Blobs }

// output returns what Tango writes into the output file: the job's end, and make's output.
func (d reader) output(ctx context.Context, row *core.Row) ([]byte, job, error) {
	j, err := d.jobOf(ctx, &row.Spec)
	if err != nil {
		return nil, j, err
	}
	res := row.Result
	var out bytes.Buffer
	say := func(ms int64, format string, args ...any) {
		fmt.Fprintf(&out, "Autograder [%s]: %s\n", time.UnixMilli(ms).UTC().Format(time.ANSIC), fmt.Sprintf(format, args...))
	}
	say(row.Spec.Submitted, "Received job %s:%d", j.Name, j.ID)
	if res.Expired > 0 {
		say(res.Expired, "The output has been deleted by its age")
		return out.Bytes(), j, nil
	}
	end := "Success: Autodriver returned normally"
	if res.Blame == core.BlamePlatform || res.State == core.RequestDead {
		end = "Internal error: Unable to complete job. Please resubmit. " + res.Reason
	} else if res.State != core.RequestCompleted {
		end = "Error: " + res.Reason
	}
	say(row.Finished, "%s", end)
	say(row.Finished, "Here is the output from the autograder:\n---")
	switch {
	case res.State == core.RequestTimedOut && res.Times.Started >= 0:
		fmt.Fprintf(&out, "Autodriver: Job timed out after %d seconds\n", int(row.Spec.Limits.Timeout.Seconds()))
	case res.Times.Started >= 0:
		fmt.Fprintf(&out, "Autodriver: Job exited with status %d\n", res.ExitCode)
	}
	err = d.feedback(ctx, &out, res, j)
	return out.Bytes(), j, err
}

// feedback adds make's output; if it is too long, only its beginning and end.
func (d reader) feedback(ctx context.Context, out *bytes.Buffer, res *core.Result, j job) error {
	most := int64(maxOutput)
	if j.MaxKB > 0 {
		most = min(most, int64(j.MaxKB*1024))
	}
	at := slices.IndexFunc(res.Files, func(f core.File) bool { return f.Path == feedback })
	if at < 0 {
		return nil
	}
	f := res.Files[at]
	in, err := d.blobs.Open(ctx, f.Digest)
	if err == nil {
		defer in.Close() //nolint:errcheck // only read from
		err = ends(out, in, f.Size, most)
	}
	return core.Wrap(err, core.CodeUnavailable, f.Digest, "the output cannot be read")
}

// ends copies size bytes, or the two ends of them if they are more than most.
func ends(to io.Writer, from io.Reader, size, most int64) error {
	if size <= most {
		_, err := io.Copy(to, from)
		return err
	}
	if _, err := io.CopyN(to, from, most/2); err != nil {
		return err
	}
	if _, err := io.WriteString(to, "\n...[excess bytes elided]...\n"); err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, from, size-2*(most/2)); err != nil {
		return err
	}
	_, err := io.Copy(to, from)
	return err
}

func (d reader) jobOf(ctx context.Context, spec *core.Spec) (job, error) {
	var j job
	if spec.Attachment == nil {
		return j, core.Errorf(core.CodeNotFound, spec.ID, "request %s is no job", spec.ID)
	}
	in, err := d.blobs.Open(ctx, spec.Attachment.Digest)
	if err != nil {
		return j, core.Wrap(err, core.CodeUnavailable, spec.ID, "what job %s was made of cannot be read", spec.ID)
	}
	defer in.Close() //nolint:errcheck // only read from
	err = json.NewDecoder(io.LimitReader(in, maxAttachment)).Decode(&j)
	return j, core.Wrap(err, core.CodeInternal, spec.ID, "what job %s was made of cannot be read", spec.ID)
}

// jobs lists the user's jobs: with 0 the unfinished ones, with 1 those that have ended.
func (d *API) jobs(w http.ResponseWriter, r *http.Request, c *call) error {
	dead, err := strconv.Atoi(r.PathValue("dead"))
	if err != nil || dead != 0 && dead != 1 {
		return refuse("ask for /jobs/KEY/0/, which go on, or /jobs/KEY/1/, which have ended")
	}
	ctx := r.Context()
	noted, err := d.own.Cache.Fields(ctx, jobsOf(c.who.Actor.Handle))
	if err != nil {
		return err
	}
	ids := slices.SortedFunc(maps.Values(noted), func(a, b string) int { return cmp.Compare(b, a) }) // ids begin with their times
	type listed struct {
		ID      int64    `json:"id"`
		Name    string   `json:"name"`
		Output  string   `json:"outputFile"`
		Timeout float64  `json:"timeout"`
		State   string   `json:"state"`
		Trace   []string `json:"trace"`
	}
	all := []listed{}
	for _, id := range ids[:min(len(ids), maxListed)] {
		row, err := d.requests.Row(ctx, c.who.Actor, id)
		if core.Is(err, core.CodeNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if row.State.Terminal() != (dead == 1) {
			continue
		}
		j, err := reader{d.requests.Blobs}.jobOf(ctx, &row.Spec)
		if err != nil {
			return err
		}
		one := listed{ID: j.ID, Name: j.Name, Output: j.Output, Timeout: j.Timeout, State: string(row.State), Trace: []string{}}
		if row.Result != nil && row.Result.Reason != "" {
			one.Trace = append(one.Trace, row.Result.Reason)
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b listed) int { return cmp.Compare(a.ID, b.ID) })
	d.answer(w, 0, "Found list of jobs", map[string]any{"jobs": all})
	return nil
}

package tango

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"drover/core"
	"drover/web/compat"
)

// job is what was requested. It is also stored as the request's attachment.
type job struct {
	Image    string     `json:"image"`
	Files    []jobFile  `json:"files"`
	Output   string     `json:"output_file"`
	Timeout  float64    `json:"timeout"` // seconds; 0: the pool's
	MaxKB    float64    `json:"max_kb"`  // of the output; 0: all of it
	Name     string     `json:"jobName"`
	Lab      string     `json:"courselab"`
	ID       int64      `json:"jobId"`
	Call     string     `json:"callback_url,omitempty"`
	SignedBy string     `json:"signed_by,omitempty"` // the secret for the callback
	Bad      jobRefused `json:"-"`
}

type jobFile struct {
	Local string `json:"localFile"` // its name in the courselab
	Dest  string `json:"destFile"`  // its name for the job
}

// jobRefused are features of a job that are not supported.
type jobRefused struct {
	AccessKey   string `json:"accessKey"`
	AccessKeyID string `json:"accessKeyId"`
	NoNetwork   bool   `json:"disable_network"`
}

const (
	maxJob   = 1 << 20 // bytes of a job's JSON
	folder   = ".tango"
	feedback = folder + "/feedback"
)

// run runs make and keeps its output; the beginning is for people who look at the request itself.
const run = `mkdir -p ` + folder + `; make >` + feedback + ` 2>&1; status=$?; head -c 65536 ` + feedback + `; exit $status`

// addJob makes a request of a job.
func (d *API) addJob(w http.ResponseWriter, r *http.Request, c *call) error {
	ctx := r.Context()
	j, err := d.readJob(w, r, c)
	if err != nil {
		return err
	}
	pool, err := d.pool(ctx, j)
	if err != nil {
		return err
	}
	spec := core.Spec{
		Pool: pool.Name, Submitter: c.who.Actor.Handle, Command: []string{"sh", "-c", run, "tango"}, Collect: []string{feedback},
		Limits: core.Limits{Timeout: time.Duration(j.Timeout * float64(time.Second))},
	}
	if j.Call != "" {
		spec.Callback = Name
	}
	if spec.Files, err = d.jobFiles(ctx, c, j); err != nil {
		return err
	}
	user := c.who.Actor.Handle
	if j.ID, err = d.own.Cache.Count(ctx, "tango job "+user, d.own.Keep); err != nil {
		return err
	}
	j.Lab = c.lab
	text, err := json.Marshal(j)
	if err != nil {
		return core.Wrap(err, core.CodeInternal, j.Name, "the job cannot be kept")
	}
	digest, size, err := d.requests.Blobs.Put(ctx, bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return err
	}
	spec.Attachment = &core.File{Digest: digest, Size: size}
	row, err := d.requests.SubmitStored(ctx, c.who.Actor, spec)
	if err != nil {
		return err
	}
	// Without it the job runs, but nobody can poll for it: so it is reported as failed.
	for name, field := range map[string]string{outputsOf(user, c.lab): j.Output, jobsOf(user): strconv.FormatInt(j.ID, 10)} {
		if err := d.own.Cache.Put(ctx, name, field, row.Spec.ID, maxOutputs, d.own.Keep); err != nil {
			return err
		}
	}
	d.answer(w, 0, "Job added", map[string]any{"jobId": j.ID})
	return nil
}

// readJob reads a job and refuses what cannot be done.
func (d *API) readJob(w http.ResponseWriter, r *http.Request, c *call) (job, error) {
	var j job
	body, release, err := d.gate.Body(w, r, c.who, maxJob)
	if err != nil {
		return j, err
	}
	defer release()
	var raw json.RawMessage
	if err := json.NewDecoder(body).Decode(&raw); err != nil {
		return j, core.Wrap(err, core.CodeInvalid, "", "the job cannot be read")
	}
	for _, into := range []any{&j, &j.Bad} {
		if err := json.Unmarshal(raw, into); err != nil {
			return j, core.Wrap(err, core.CodeInvalid, "", "the job cannot be read")
		}
	}
	j.SignedBy = ""
	if j.Call != "" {
		if err := d.own.Callbacks.CheckURL(j.Call); err != nil {
			return j, refuse("callback_url: " + err.Error())
		}
		j.SignedBy = compat.CallbackSecret(c.key)
	}
	switch {
	case !fs.ValidPath(j.Output) || j.Output == "." || len(j.Output) > maxName || strings.ContainsFunc(j.Output, unicode.IsControl):
		return j, refuse("output_file must name the file that the output is asked for by")
	case j.Bad.AccessKey != "" || j.Bad.AccessKeyID != "":
		return j, refuse("accessKey: drover makes no machines in clouds")
	case !(j.Timeout >= 0 && j.Timeout <= core.MaxTimeout.Seconds()):
		return j, refuse("timeout must be a number of seconds, 0 or more")
	case !(j.MaxKB >= 0 && j.MaxKB <= math.MaxInt32):
		return j, refuse("max_kb must be a number of kilobytes, 0 or more")
	}
	return j, nil
}

// pool finds the pool of an image.
func (d *API) pool(ctx context.Context, j job) (core.Pool, error) {
	name := d.own.Images[j.Image]
	if name == "" {
		name = j.Image
	}
	if !core.ValidName(name) {
		return core.Pool{}, refuse("Invalid image name")
	}
	p, err := d.requests.Pool(ctx, name)
	if core.Is(err, core.CodeNotFound) {
		return p, refuse("Invalid image name")
	}
	if err == nil && j.Bad.NoNetwork && p.Network == core.NetworkEgress {
		err = refuse("disable_network: the VMs of pool " + p.Name + " reach public addresses; use a pool whose VMs do not")
	}
	return p, err
}

// jobFiles returns the files of a job, with their names in its VM.
func (d *API) jobFiles(ctx context.Context, c *call, j job) ([]core.File, error) {
	there, err := d.opened(ctx, c)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, refuse("Courselab not found")
	}
	have, err := d.files(ctx, c)
	if err != nil {
		return nil, err
	}
	var files []core.File
	for _, f := range j.Files {
		s, ok := have[f.Local]
		if !ok {
			return nil, refuse("file " + strconv.Quote(f.Local) + " is not in the courselab: upload it, then add the job")
		}
		files = append(files, core.File{Path: f.Dest, Digest: s.Digest, Size: s.Size, Mode: 0o755})
		if len(have) > maxFiles/2 { // unused files must not displace used ones
			if err := d.note(ctx, c, f.Local, s); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

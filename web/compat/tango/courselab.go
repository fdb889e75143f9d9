package tango

import (
	"context"
	"crypto/md5" //nolint:gosec // Tango's way to say that files are the same
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"drover/core"
)

// Bounds on a user's records; the oldest are dropped first.
const (
	maxLabs    = 200
	maxFiles   = 1000 // of one courselab
	maxOutputs = 2000 // of one courselab
	maxListed  = 200  // of a user's jobs
	maxName    = 255  // bytes
)

// shelved is a file of a courselab.
type shelved struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	MD5    string `json:"md5"`
	Until  int64  `json:"until_ms"` // until then its content is not deleted
}

// The names in the cache: a user's courselabs, the files of one, the jobs of one by their
// outputs, and the jobs of a user by their numbers.
func labsOf(user string) string         { return "tango labs " + user }
func filesOf(user, lab string) string   { return "tango files " + user + " " + lab }
func outputsOf(user, lab string) string { return "tango outputs " + user + " " + lab }
func jobsOf(user string) string         { return "tango jobs " + user }

// opened returns whether there is a courselab.
func (d *API) opened(ctx context.Context, c *call) (bool, error) {
	labs, err := d.own.Cache.Fields(ctx, labsOf(c.who.Actor.Handle))
	return labs[c.lab] != "", err
}

// files returns what a courselab holds, by name.
func (d *API) files(ctx context.Context, c *call) (map[string]shelved, error) {
	noted, err := d.own.Cache.Fields(ctx, filesOf(c.who.Actor.Handle, c.lab))
	if err != nil {
		return nil, err
	}
	files := make(map[string]shelved, len(noted))
	for name, text := range noted {
		var f shelved
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			return nil, core.Wrap(err, core.CodeInternal, name, "a note of courselab %.80q cannot be read", c.lab)
		}
		if f.Until > d.now().UnixMilli() {
			files[name] = f
		}
	}
	return files, nil
}

// open creates a courselab unless it exists, and returns its files.
func (d *API) open(w http.ResponseWriter, r *http.Request, c *call) error {
	ctx := r.Context()
	there, err := d.opened(ctx, c)
	if err != nil {
		return err
	}
	if err := d.own.Cache.Put(ctx, labsOf(c.who.Actor.Handle), c.lab, d.now().UTC().Format(time.RFC3339), maxLabs, d.own.Keep); err != nil {
		return err
	}
	if !there {
		d.answer(w, 0, "Created directory", map[string]any{"files": map[string]string{}})
		return nil
	}
	files, err := d.files(ctx, c)
	if err != nil {
		return err
	}
	sums := map[string]string{}
	for name, f := range files {
		sums[name] = f.MD5
	}
	d.answer(w, 0, "Found directory", map[string]any{"files": sums})
	return nil
}

// upload takes one file.
func (d *API) upload(w http.ResponseWriter, r *http.Request, c *call) error {
	ctx := r.Context()
	name := r.Header.Get("Filename")
	if !fs.ValidPath(name) || strings.Contains(name, "/") || name == "." || len(name) > maxName {
		return refuse("the header Filename must name the file, without a folder")
	}
	there, err := d.opened(ctx, c)
	if err != nil {
		return err
	}
	if !there {
		return refuse("Courselab not found")
	}
	sum := md5.New() //nolint:gosec // as above
	began := d.now()
	content, release, err := d.gate.Body(w, r, c.who, d.own.MaxFile)
	if err != nil {
		return err
	}
	defer release()
	digest, size, err := d.requests.Blobs.Put(ctx, io.TeeReader(content, sum), d.own.MaxFile)
	if err != nil {
		return core.Wrap(err, core.CodeOf(err), name, "file %.80q cannot be stored", name)
	}
	f := shelved{Digest: digest, Size: size, MD5: hex.EncodeToString(sum.Sum(nil)), Until: began.Add(d.own.Keep).UnixMilli()}
	files, err := d.files(ctx, c)
	if err != nil {
		return err
	}
	if err := d.note(ctx, c, name, f); err != nil {
		return err
	}
	if files[name].Digest == digest {
		d.say(w, 0, "File exists")
		return nil
	}
	d.say(w, 0, "Uploaded file")
	return nil
}

// note records a file of a courselab.
func (d *API) note(ctx context.Context, c *call, name string, f shelved) error {
	text, err := json.Marshal(f)
	if err != nil {
		return core.Wrap(err, core.CodeInternal, name, "file %.80q cannot be noted", name)
	}
	return d.own.Cache.Put(ctx, filesOf(c.who.Actor.Handle, c.lab), name, string(text), maxFiles, d.own.Keep)
}

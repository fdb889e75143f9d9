package jobe

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"hash/fnv"
	"net/http"
	"strconv"

	"drover/core"
)

// Bounds on a user's files; the oldest are dropped first. They are noted in several places, so that a run reads few.
const (
	maxContent = 8 << 20  // bytes of a file
	maxPut     = 12 << 20 // bytes of a body with a file in Base64
	shelves    = 64       // places for a user's files
	maxShelf   = 64       // files of one place
	notHere    = "file %q is not here: PUT it, then send the run again"
	needsFile  = "file_contents" // attribute of the body
)

// shelved is a note of a file.
type shelved struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	Until  int64  `json:"until_ms"` // until then its content is not deleted
}

// shelf names the place of a user's file: ids are chosen by callers, so each user has its own.
func shelf(user, id string) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(id)) // never fails
	return "jobe files " + user + " " + strconv.FormatUint(uint64(sum.Sum32()%shelves), 10)
}

// find returns files of a user by their ids; those that are not there are left out.
func (d *API) find(ctx context.Context, user string, ids []string) (map[string]shelved, error) {
	found, read := map[string]shelved{}, map[string]map[string]string{}
	for _, id := range ids {
		at := shelf(user, id)
		if read[at] == nil {
			noted, err := d.own.Cache.Fields(ctx, at)
			if err != nil {
				return nil, err
			}
			read[at] = noted
		}
		text, is := read[at][id]
		if !is {
			continue
		}
		var f shelved
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			return nil, core.Wrap(err, core.CodeInternal, id, "the note of file %s cannot be read", id)
		}
		if f.Until > d.now().UnixMilli() {
			found[id] = f
		}
	}
	return found, nil
}

func idOf(r *http.Request) (string, error) {
	id := r.PathValue("id")
	if !validID(id) {
		return "", refuse("%.80q is no id of a file: one has %d to %d letters and digits", id, minID, maxID)
	}
	return id, nil
}

// putFile takes a file.
func (d *API) putFile(w http.ResponseWriter, r *http.Request, c *call) error {
	id, err := idOf(r)
	if err != nil {
		return err
	}
	ctx, began := r.Context(), d.now()
	text, release, err := d.body(w, r, c, maxPut)
	if err != nil {
		return err
	}
	defer release()
	var body map[string]json.RawMessage
	if err := json.Unmarshal(text, &body); err != nil {
		return refuse("the body is not the JSON that is wanted here: %v", err)
	}
	f := fields{values: body}
	encoded := f.text(needsFile, true)
	if f.err != nil {
		return refuse("the body has no %s, or it is not a text", needsFile)
	}
	content, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return refuse("%s is not valid Base64: %v", needsFile, err)
	}
	if len(content) > maxContent {
		return &refusal{http.StatusRequestEntityTooLarge, "the file is larger than " + strconv.Itoa(maxContent) + " bytes"}
	}
	stored, err := d.put(ctx, content)
	if err != nil {
		return err
	}
	note, err := json.Marshal(shelved{Digest: stored.Digest, Size: stored.Size, Until: began.Add(d.own.Keep).UnixMilli()})
	if err != nil {
		return core.Wrap(err, core.CodeInternal, id, "file %s cannot be noted", id)
	}
	if err := d.own.Cache.Put(ctx, shelf(c.who.Actor.Handle, id), id, string(note), maxShelf, d.own.Keep); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// headFile tells whether a file is there.
func (d *API) headFile(w http.ResponseWriter, r *http.Request, c *call) error {
	id, err := idOf(r)
	if err != nil {
		return err
	}
	found, err := d.find(r.Context(), c.who.Actor.Handle, []string{id})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		w.WriteHeader(http.StatusNotFound)
		return nil
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// put stores bytes.
func (d *API) put(ctx context.Context, content []byte) (core.File, error) {
	digest, size, err := d.requests.Blobs.Put(ctx, bytes.NewReader(content), max(int64(len(content)), 1))
	return core.File{Digest: digest, Size: size}, err
}

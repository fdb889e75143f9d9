package mongo

import (
	"context"
	"crypto/sha256"
	"fmt"

	"drover/core"
)

// A document may have 16 MiB, and so may each of a result's streams. So the beginning of a stream is kept with its
// request, and the rest in separate documents. (GridFS would do, but a writer that dies leaves chunks to which
// nothing refers.)
const (
	inline = 256 << 10 // bytes of each stream kept with the request; more than a history shows
	piece  = 4 << 20   // bytes of a document of output
)

// output is the part of a request's document about its output.
type output struct {
	Stdout []byte `bson:"stdout,omitempty"`
	Stderr []byte `bson:"stderr,omitempty"`
	Rest   string `bson:"rest,omitempty"` // names the documents that hold the rest
	Pieces [2]int `bson:"pieces"`         // of stdout and stderr
}

// IsZero reports whether there is no output: then the field is left out.
func (o output) IsZero() bool { return len(o.Stdout) == 0 && len(o.Stderr) == 0 }

// chunk is a document of output.
type chunk struct {
	ID      string `bson:"_id"`
	Request string `bson:"request"`
	Data    []byte `bson:"data"`
}

// chunkID names the n-th piece of a stream.
func chunkID(rest string, stream, n int) string { return fmt.Sprintf("%s/%d/%d", rest, stream, n) }

// pack stores the output that does not fit into the request's document, under a name derived from its origin and
// content: repeating an interrupted call stores nothing twice, and no other result overwrites it. The request is
// marked first, so that chunks left by a crash are found.
func (s *Store) pack(ctx context.Context, a *recording) (output, error) {
	r := a.result
	out := output{Stdout: []byte(r.Stdout), Stderr: []byte(r.Stderr)}
	if a.long = a.long || long(r); long(r) {
		if err := s.changeAll(ctx, requests, m{"_id": r.ID, "long": absent}, m{"$set": m{"long": true}}); err != nil {
			return output{}, err
		}
		out.Rest = restName(a)
	}
	for stream, text := range []*[]byte{&out.Stdout, &out.Stderr} {
		if len(*text) <= inline {
			continue
		}
		rest := (*text)[inline:]
		*text = (*text)[:inline]
		for ; len(rest) > 0; out.Pieces[stream]++ {
			part := rest[:min(piece, len(rest))]
			rest = rest[len(part):]
			if _, err := s.insert(ctx, outputs, chunk{chunkID(out.Rest, stream, out.Pieces[stream]), r.ID, part}); err != nil {
				return output{}, err
			}
		}
	}
	return out, nil
}

// long reports whether a result's output does not fit into its request.
func long(r *core.Result) bool { return max(len(r.Stdout), len(r.Stderr)) > inline }

// restName names the rest of an output by its origin and content.
func restName(a *recording) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %d %s%s", a.origin, len(a.result.Stdout), a.result.Stdout, a.result.Stderr)
	return fmt.Sprintf("%s/%x", a.result.Key(), sum.Sum(nil)[:16])
}

// unpack gives a result its output, from the document and its chunks. Returns false if a chunk is missing.
func (s *Store) unpack(ctx context.Context, doc *request, r *core.Result) (bool, error) {
	out := &doc.Output
	for stream, text := range []*[]byte{&out.Stdout, &out.Stderr} {
		for n := range out.Pieces[stream] {
			part, found, err := one[chunk](ctx, s, outputs, m{"_id": chunkID(out.Rest, stream, n)})
			if err != nil || !found {
				return false, err
			}
			*text = append(*text, part.Data...)
		}
	}
	r.Stdout, r.Stderr = string(out.Stdout), string(out.Stderr)
	return true, nil
}

// dropOthers deletes the stored outputs of a generation that has its result, except that result's own. If this fails,
// they are deleted with the request.
func (s *Store) dropOthers(ctx context.Context, r *core.Result) {
	doc, _, err := one[request](ctx, s, requests, m{"_id": r.ID, "gen": r.Generation}, "output.rest")
	if err != nil {
		return
	}
	its := m{"$gte": r.Key() + "/", "$lt": r.Key() + "0"} // the character after the slash
	which := m{"request": r.ID, "_id": its}
	if rest := doc.Output.Rest; rest != "" {
		which = m{"request": r.ID, "$or": []m{
			{"_id": m{"$gte": r.Key() + "/", "$lt": rest + "/"}},
			{"_id": m{"$gte": rest + "0", "$lt": r.Key() + "0"}},
		}}
	}
	_, _ = s.remove(ctx, outputs, which) // see above
}

// drop deletes the rest of an output that is not used any more. If this fails, it is deleted with its request.
func (s *Store) drop(ctx context.Context, out output) {
	for stream, pieces := range out.Pieces {
		for n := range pieces {
			if _, err := s.remove(ctx, outputs, m{"_id": chunkID(out.Rest, stream, n)}); err != nil {
				return
			}
		}
	}
}

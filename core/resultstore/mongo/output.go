package mongo

import (
	"context"
	"fmt"

	"drover/core"
)

// A document may have 16 MiB, each of a result's streams too. So the beginning of a
// stream stands with its request, and the rest in documents of their own. (GridFS
// would do, but leave chunks that nothing names when a writer dies.)
const (
	inline = 256 << 10 // bytes of each stream that stand with the request; more than a history shows
	piece  = 4 << 20   // bytes of a document of outputs
)

// output is what a request's document has of its output.
type output struct {
	Stdout []byte `bson:"stdout,omitempty"`
	Stderr []byte `bson:"stderr,omitempty"`
	Rest   string `bson:"rest,omitempty"` // names the documents that hold the rest
	Pieces [2]int `bson:"pieces"`         // of stdout and stderr
}

// IsZero reports whether there is none: then it is left out.
func (o output) IsZero() bool { return len(o.Stdout) == 0 && len(o.Stderr) == 0 }

// chunk is a document of outputs.
type chunk struct {
	ID      string `bson:"_id"`
	Request string `bson:"request"`
	Data    []byte `bson:"data"`
}

// chunkID names the n-th piece of a stream.
func chunkID(rest string, stream, n int) string { return fmt.Sprintf("%s/%d/%d", rest, stream, n) }

// pack stores what of a result's output does not fit into its request, under a name of
// this call's own: whoever else records the same does not touch it.
func (s *Store) pack(ctx context.Context, r *core.Result) (output, error) {
	out := output{Stdout: []byte(r.Stdout), Stderr: []byte(r.Stderr)}
	for stream, text := range []*[]byte{&out.Stdout, &out.Stderr} {
		if len(*text) <= inline {
			continue
		}
		if out.Rest == "" {
			out.Rest = r.Key() + "/" + token()
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

// unpack gives a result its output, as far as the document has it or names it. Returns
// false if what it names is not there.
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

// drop deletes what pack stored. What stays, since it fails, goes with its request.
func (s *Store) drop(ctx context.Context, out output) {
	for stream, pieces := range out.Pieces {
		for n := range pieces {
			if _, err := s.remove(ctx, outputs, m{"_id": chunkID(out.Rest, stream, n)}); err != nil {
				return
			}
		}
	}
}

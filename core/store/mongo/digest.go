package mongo

import (
	"context"

	"drover/core"
	"drover/core/school"
)

// digestPage is how many documents Digests holds at once.
const digestPage = 100

// Digests calls fn with every digest to which a document refers, perhaps more than once. Submissions are read before
// requests, which may still be in their documents; requests before the history, into which a rerun moves their
// results.
func (s *Store) Digests(ctx context.Context, fn func(digest string) error) error {
	for _, walk := range []func(context.Context, func(string) error) error{
		s.imageDigests, s.downloads, s.submissionDigests, s.batchDigests, s.requestDigests, s.attemptDigests, s.harnessDigests,
	} {
		if err := walk(ctx, fn); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) requestDigests(ctx context.Context, fn func(digest string) error) error {
	return pages(ctx, s, requests, []string{"spec", "result"}, func(doc *request) (string, error) {
		if err := specDigests(doc.Spec, doc.ID, fn); err != nil {
			return "", err
		}
		return doc.ID, fileDigests(doc.Result, doc.ID, fn)
	})
}

// specDigests calls fn with the digests in a spec; the spec may be "".
func specDigests(doc, id string, fn func(digest string) error) error {
	if doc == "" {
		return nil
	}
	var spec core.Spec
	if err := decode(doc, &spec, id); err != nil {
		return err
	}
	return eachDigest(&spec, fn)
}

func eachDigest(spec *core.Spec, fn func(digest string) error) error {
	for _, f := range append([]*core.File{spec.Stdin, spec.Harness, spec.Attachment}, pointers(spec.Files)...) {
		if f == nil {
			continue
		}
		if err := fn(f.Digest); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) attemptDigests(ctx context.Context, fn func(digest string) error) error {
	return pages(ctx, s, attempts, []string{"result", "request"}, func(doc *attempt) (string, error) {
		return doc.ID, fileDigests(doc.Result, doc.Request, fn)
	})
}

func (s *Store) submissionDigests(ctx context.Context, fn func(digest string) error) error {
	return pages(ctx, s, submissions, []string{"json", "spec"}, func(doc *submission) (string, error) {
		if err := specDigests(doc.Spec, doc.ID, fn); err != nil {
			return "", err
		}
		return doc.ID, fileDigests(doc.JSON, doc.ID, fn)
	})
}

// harnessDigests reads assignments before experiments, whose harness may become an assignment's: the experiment keeps
// it too.
func (s *Store) harnessDigests(ctx context.Context, fn func(digest string) error) error {
	for _, in := range []string{assignments, experiments} {
		err := pages(ctx, s, in, []string{"json"}, func(doc *document) (string, error) {
			var of struct {
				Harness *school.Harness `json:"harness"`
			}
			if err := decode(doc.JSON, &of, doc.ID); err != nil || of.Harness == nil {
				return doc.ID, err
			}
			for _, f := range append(of.Harness.Handout, of.Harness.File) {
				if err := fn(f.Digest); err != nil {
					return "", err
				}
			}
			return doc.ID, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fileDigests calls fn with the digests of the files of a result or a submission.
func fileDigests(doc, id string, fn func(digest string) error) error {
	if doc == "" {
		return nil
	}
	var result struct {
		Files []core.File `json:"files"`
	}
	if err := decode(doc, &result, id); err != nil {
		return err
	}
	for _, f := range result.Files {
		if err := fn(f.Digest); err != nil {
			return err
		}
	}
	return nil
}

// pages calls do with every document of a collection, in order of the id that do returns.
func pages[T any](ctx context.Context, s *Store, in string, fields []string, do func(doc *T) (id string, err error)) error {
	for after := ""; ; {
		docs, err := some[T](ctx, s, in, m{"_id": m{"$gt": after}}, by("_id"), digestPage, fields...)
		if err != nil {
			return err
		}
		for i := range docs {
			if after, err = do(&docs[i]); err != nil {
				return err
			}
		}
		if len(docs) < digestPage {
			return nil
		}
	}
}

func pointers(files []core.File) []*core.File {
	all := make([]*core.File, len(files))
	for i := range files {
		all[i] = &files[i]
	}
	return all
}

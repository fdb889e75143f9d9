package lti

import (
	"context"
	"encoding/json"

	"drover/core"
	"drover/core/school"
)

// get reads a record's content.
func get[T any](ctx context.Context, s Store, kind school.LTIKind, id string) (content T, revision int64, err error) {
	r, err := s.GetLTI(ctx, kind, id)
	if err == nil {
		err = decode(r, &content)
	}
	return content, r.Revision, err
}

func decode(r school.LTIRecord, to any) error {
	return core.Wrap(json.Unmarshal(r.Doc, to), core.CodeInternal, r.ID, "the %s %s cannot be read", r.Kind, r.ID)
}

// put writes a record. The content is checked already.
func put(ctx context.Context, store Store, r school.LTIRecord, content any) (int64, error) {
	var err error
	if r.Doc, err = json.Marshal(content); err != nil {
		return 0, core.Wrap(err, core.CodeInternal, r.ID, "the %s %s cannot be written", r.Kind, r.ID)
	}
	return store.PutLTI(ctx, r)
}

// page is how many records are read at a time.
const page = 500

// all reads the contents of all records of a kind, of one class or of all for "".
func all[T any](ctx context.Context, s Store, kind school.LTIKind, class string, fill func(*T, school.LTIRecord)) ([]T, error) {
	var found []T
	for after := ""; ; {
		some, err := s.ListLTI(ctx, kind, class, after, page)
		if err != nil {
			return nil, err
		}
		for _, r := range some {
			var one T
			if err := decode(r, &one); err != nil {
				return nil, err
			}
			fill(&one, r)
			found, after = append(found, one), r.ID
		}
		if len(some) < page {
			return found, nil
		}
	}
}

func (s *Service) putCourse(ctx context.Context, c school.LTICourse) error {
	if err := c.Check(); err != nil {
		return err
	}
	_, err := put(ctx, s.Store, school.LTIRecord{Kind: school.LTICourses, ID: c.ID(), Class: c.Class, Revision: c.Revision}, c)
	return err
}

func (s *Service) putLink(ctx context.Context, l school.LTILink) error {
	if err := l.Check(); err != nil {
		return err
	}
	_, err := put(ctx, s.Store, school.LTIRecord{Kind: school.LTILinks, ID: l.ID(), Class: l.Class, Revision: l.Revision}, l)
	return err
}

// course returns the class with which a course is connected. Returns NOTFOUND.
func (s *Service) course(ctx context.Context, platform, deployment, course string) (school.LTICourse, error) {
	c, revision, err := get[school.LTICourse](ctx, s.Store, school.LTICourses, school.LTIID(platform, deployment, course))
	c.Revision = revision
	return c, err
}

// link returns a link to an assignment. Returns NOTFOUND.
func (s *Service) link(ctx context.Context, l school.LTILink) (school.LTILink, error) {
	found, revision, err := get[school.LTILink](ctx, s.Store, school.LTILinks, l.ID())
	found.Revision = revision
	return found, err
}

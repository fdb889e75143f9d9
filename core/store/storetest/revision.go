package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// revised is a kind of thing that carries a revision.
type revised struct {
	// put puts the thing of a name, with a mark and a revision.
	put func(ctx context.Context, name, mark string, revision int64) (int64, error)
	// get returns its mark and revision.
	get func(ctx context.Context, name string) (string, int64, error)
}

func revisedThings(s school.ResultStore) map[string]revised {
	return map[string]revised{
		"join token": revisedToken(s),
		"user": {
			func(ctx context.Context, name, mark string, revision int64) (int64, error) {
				return s.PutUser(ctx, school.User{Handle: name, Name: mark, Revision: revision})
			},
			func(ctx context.Context, name string) (string, int64, error) {
				u, err := s.GetUser(ctx, name)
				return u.Name, u.Revision, err
			},
		},
		"class": {
			func(ctx context.Context, name, mark string, revision int64) (int64, error) {
				return s.PutClass(ctx, school.Class{Handle: name, Title: mark, Revision: revision})
			},
			func(ctx context.Context, name string) (string, int64, error) {
				c, err := s.GetClass(ctx, name)
				return c.Title, c.Revision, err
			},
		},
		"assignment": {
			func(ctx context.Context, name, mark string, revision int64) (int64, error) {
				a := Assignment("cs101", name)
				a.Title, a.Revision = mark, revision
				return s.PutAssignment(ctx, a)
			},
			func(ctx context.Context, name string) (string, int64, error) {
				a, err := s.GetAssignment(ctx, "cs101", name)
				return a.Title, a.Revision, err
			},
		},
		"account": {
			func(ctx context.Context, name, mark string, revision int64) (int64, error) {
				if _, err := s.PutUser(ctx, school.User{Handle: "of-" + name}); err != nil && !core.Is(err, core.CodeConflict) {
					return 0, err
				}
				return s.PutAccount(ctx, school.Account{User: "of-" + name, Password: "$x$" + mark, Revision: revision})
			},
			func(ctx context.Context, name string) (string, int64, error) {
				a, err := s.GetAccount(ctx, "of-"+name)
				return strings.TrimPrefix(a.Password, "$x$"), a.Revision, err
			},
		},
		"experiment": {
			func(ctx context.Context, name, mark string, revision int64) (int64, error) {
				e := Experiment("cs101", "hw1")
				e.ID, e.By, e.Revision = name, mark, revision
				return s.PutExperiment(ctx, e)
			},
			func(ctx context.Context, name string) (string, int64, error) {
				e, err := s.GetExperiment(ctx, name)
				return e.By, e.Revision, err
			},
		},
	}
}

func revisedToken(s school.ResultStore) revised {
	return revised{
		func(ctx context.Context, name, mark string, revision int64) (int64, error) {
			token := JoinToken(name)
			token.By, token.Revision = mark, revision
			return s.PutJoinToken(ctx, token)
		},
		func(ctx context.Context, name string) (string, int64, error) {
			token, err := s.GetJoinToken(ctx, name)
			return token.By, token.Revision, err
		},
	}
}

// revisions shows what school.Roster says of every Put.
func revisions(t *testing.T, s school.ResultStore) {
	aClass(t, s)
	for kind, thing := range revisedThings(s) {
		t.Run(kind, func(t *testing.T) {
			ctx := t.Context()
			is := func(mark string, revision int64) {
				t.Helper()
				gotMark, got, err := thing.get(ctx, "x")
				require.NoError(t, err)
				require.Equal(t, mark, gotMark)
				require.Equal(t, revision, got)
			}
			_, _, err := thing.get(ctx, "x")
			requireCode(t, core.CodeNotFound, err)
			_, err = thing.put(ctx, "x", "never", 1)
			requireCode(t, core.CodeNotFound, err)
			_, err = thing.put(ctx, "x", "never", -1)
			requireCode(t, core.CodeInvalid, err)

			revision, err := thing.put(ctx, "x", "first", 0)
			require.NoError(t, err)
			require.EqualValues(t, 1, revision)
			is("first", 1)
			_, err = thing.put(ctx, "x", "another", 0)
			requireCode(t, core.CodeConflict, err)
			_, err = thing.put(ctx, "x", "ahead", 2)
			requireCode(t, core.CodeConflict, err)
			is("first", 1)
			revision, err = thing.put(ctx, "x", "second", 1)
			require.NoError(t, err)
			require.EqualValues(t, 2, revision)
			_, err = thing.put(ctx, "x", "late", 1)
			requireCode(t, core.CodeConflict, err)
			is("second", 2)
		})
	}
}

// raceRevisions shows that of many who change the same revision one wins.
func raceRevisions(t *testing.T, s school.ResultStore) {
	aClass(t, s)
	for kind, thing := range revisedThings(s) {
		t.Run(kind, func(t *testing.T) {
			for revision := range int64(4) {
				var won atomic.Int32
				var mark atomic.Pointer[string]
				race(t, func(i int) error {
					mine := fmt.Sprintf("m%d", i)
					got, err := thing.put(t.Context(), "x", mine, revision)
					switch {
					case core.Is(err, core.CodeConflict):
						return nil
					case err == nil && got != revision+1:
						return fmt.Errorf("revision %d after %d", got, revision)
					case err == nil:
						won.Add(1)
						mark.Store(&mine)
					}
					return err
				})
				require.EqualValues(t, 1, won.Load())
				gotMark, got, err := thing.get(t.Context(), "x")
				require.NoError(t, err)
				require.Equal(t, revision+1, got)
				require.Equal(t, *mark.Load(), gotMark)
			}
		})
	}
}

package access

import (
	"context"
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/config"
	"drover/core/coretest"
)

// parts is a cluster without processes, whose parts a test may set back, empty, or take from another.
type parts struct {
	t       *testing.T
	redis   *coretest.Backend
	dir     string
	changed []string // settings, after those that it began with

	done, open string // requests: one ended after the backup, one did not
	backup     string // copies of the store and the files from before
	keys       map[string]string
}

func (s *parts) cfg(settings ...string) *config.Config {
	s.t.Helper()
	env := append([]string{"DROVER_DATA=" + s.dir, "DROVER_REDIS=" + s.redis.URL, "DROVER_NAMESPACE=" + s.redis.Namespace, "DROVER_HOST=h1"}, s.changed...)
	cfg, err := config.Load(nil, append(env, settings...))
	require.NoError(s.t, err)
	return cfg
}

func (s *parts) join(settings ...string) *Cluster {
	s.t.Helper()
	h, err := JoinCluster(s.t.Context(), s.cfg(settings...))
	require.NoError(s.t, err)
	return h
}

// submit submits a request with a file.
func (s *parts) submit(h *Cluster, content string) string {
	s.t.Helper()
	digest, size, err := h.Blobs.Put(s.t.Context(), strings.NewReader(content), 100)
	require.NoError(s.t, err)
	row, _, err := h.Intake.Submit(s.t.Context(), core.Spec{
		Pool: "p1", Submitter: "ann", Command: []string{"true"}, Files: []core.File{{Path: "f", Digest: digest, Size: size}},
	})
	require.NoError(s.t, err)
	return row.Spec.ID
}

// run runs what waits, as a testrunner does.
func (s *parts) run(h *Cluster, most int) {
	s.t.Helper()
	ctx := s.t.Context()
	c := coretest.NewCluster(s.t, h.Redis, "h1", "p1")
	c.AddVMs(s.t, most)
	for i, claim := range c.Exchange(s.t, 1, most).Claims {
		spec := claim.ReadSpec()
		r := core.Result{ID: spec.ID, Generation: spec.Generation, Pool: spec.Pool, State: core.RequestCompleted, Token: claim.Token, VM: claim.VM}
		if file, err := h.Blobs.Open(ctx, spec.Files[0].Digest); err == nil {
			_, err = io.Copy(io.Discard, file)
			require.NoError(s.t, err)
			require.NoError(s.t, file.Close())
		} else {
			require.True(s.t, core.Is(err, core.CodeNotFound), err)
			r.State, r.Blame = core.RequestFailed, core.BlamePlatform
		}
		_, err := h.Store.Record(ctx, r)
		require.NoError(s.t, err)
		x := c.Exchange(s.t, int64(2+i), 0, core.Finish{Key: claim.Key, Token: claim.Token, Outcome: core.OutcomeDone})
		require.Equal(s.t, []bool{true}, x.Finished)
	}
	for _, owner := range []struct {
		name  string
		epoch int64
	}{{c.Runner, c.Epoch}, {c.Factory, c.Made}} {
		require.NoError(s.t, h.Redis.Deregister(ctx, owner.name, owner.epoch))
	}
}

// dump reads all keys of the namespace.
func (s *parts) dump() map[string]string {
	s.t.Helper()
	keys, err := s.redis.Admin.Keys(s.t.Context(), s.redis.Namespace+":*").Result()
	require.NoError(s.t, err)
	all := map[string]string{}
	for _, key := range keys {
		if all[key], err = s.redis.Admin.Dump(s.t.Context(), key).Result(); err != redis.Nil { //nolint:errorlint // it is not wrapped
			require.NoError(s.t, err)
		}
	}
	return all
}

func (s *parts) emptyRedis() {
	s.t.Helper()
	for key := range s.dump() {
		require.NoError(s.t, s.redis.Admin.Del(s.t.Context(), key).Err())
	}
}

func (s *parts) olderRedis() {
	s.t.Helper()
	s.emptyRedis()
	for key, value := range s.keys {
		require.NoError(s.t, s.redis.Admin.Restore(s.t.Context(), key, 0, value).Err())
	}
	// It is another life of the server.
	require.NoError(s.t, s.redis.Admin.HDel(s.t.Context(), s.redis.Namespace+":meta", "incarnation").Err())
}

func (s *parts) path(name string) string { return filepath.Join(s.dir, name) }

func (s *parts) remove(names ...string) {
	s.t.Helper()
	for _, name := range names {
		require.NoError(s.t, os.RemoveAll(s.path(name)))
	}
}

func (s *parts) older(name string) {
	s.t.Helper()
	s.remove(name)
	from := filepath.Join(s.backup, name)
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		require.NoError(s.t, os.CopyFS(s.path(name), os.DirFS(from)))
		return
	}
	content, err := os.ReadFile(from)
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(s.path(name), content, 0o600))
}

// another makes a part of another cluster this one's.
func (s *parts) another(name string) {
	s.t.Helper()
	other := newParts(s.t)
	s.backup = other.dir
	s.older(name)
}

// newParts makes a cluster, and a backup of it, since which one request ended and another was submitted.
func newParts(t *testing.T) *parts {
	t.Helper()
	s := &parts{t: t, redis: coretest.Real(t), dir: t.TempDir(), backup: t.TempDir()}
	h := s.join()
	require.NoError(t, h.Intake.SetPool(t.Context(), core.DefaultPool("p1")))
	s.done = s.submit(h, "done")
	require.NoError(t, h.Close())
	content, err := os.ReadFile(s.path("drover.db"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(s.backup, "drover.db"), content, 0o600))
	require.NoError(t, os.CopyFS(filepath.Join(s.backup, "blobs"), os.DirFS(s.path("blobs"))))
	s.keys = s.dump()
	h = s.join()
	s.run(h, 1)
	s.open = s.submit(h, "open")
	require.NoError(t, h.Close())
	return s
}

const (
	refused = "is not the"
	gone    = "cannot be found" // a request is no more
)

// Each part of a cluster, and some of them together, is set back, emptied, another's or missing. Either everything is
// refused, with what to type, or all that the store has comes to its end; what differs is named, and mended by an overseer.
func TestPartsOfAClusterSetBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breaks     func(s *parts)
		refused    string   // what every program says
		names      []string // the setting, and what to do
		kinds      []string // what the check finds
		files      int      // that are missing
		done, open core.RequestState
	}{
		"nothing":         {breaks: func(*parts) {}, done: core.RequestCompleted, open: core.RequestCompleted},
		"store older":     {breaks: func(s *parts) { s.older("drover.db") }, kinds: []string{"ends", "unknown"}, done: core.RequestCompleted, open: gone},
		"store empty":     {breaks: func(s *parts) { s.remove("drover.db"); s.write("drover.db", "") }, refused: "is not the result store", names: []string{"--store", "backup"}},
		"store another's": {breaks: func(s *parts) { s.another("drover.db") }, refused: "is not the result store", names: []string{"--store", "migrate --adopt"}},
		"store missing":   {breaks: func(s *parts) { s.remove("drover.db") }, refused: "is not the result store", names: []string{"--store", "backup"}},

		"Redis older":     {breaks: func(s *parts) { s.olderRedis() }, kinds: []string{"ended", "unfinished"}, done: core.RequestCompleted, open: core.RequestCompleted},
		"Redis empty":     {breaks: func(s *parts) { s.emptyRedis() }, kinds: []string{"unfinished"}, done: core.RequestCompleted, open: core.RequestCompleted},
		"Redis another's": {breaks: func(s *parts) { s.redis = newParts(s.t).redis }, refused: "is not the result store", names: []string{"--store"}},
		"Redis missing":   {breaks: func(s *parts) { s.changed = []string{"DROVER_REDIS=unix:///nowhere/redis.sock"} }, refused: "does not answer", names: []string{"Start it"}},

		"blobs older":     {breaks: func(s *parts) { s.older("blobs") }, files: 1, done: core.RequestCompleted, open: core.RequestFailed},
		"blobs empty":     {breaks: func(s *parts) { s.remove("blobs"); s.mkdir("blobs") }, refused: "is not the blob store", names: []string{"--blobs", "backup"}},
		"blobs another's": {breaks: func(s *parts) { s.another("blobs") }, refused: "is not the blob store", names: []string{"--blobs", "migrate --adopt"}},
		"blobs missing":   {breaks: func(s *parts) { s.remove("blobs") }, refused: "is not the blob store", names: []string{"--blobs", "backup"}},

		"store and Redis older": {
			breaks: func(s *parts) { s.older("drover.db"); s.olderRedis() }, done: core.RequestCompleted, open: gone,
		},
		"store, Redis and blobs older": {
			breaks: func(s *parts) { s.older("drover.db"); s.olderRedis(); s.older("blobs") }, done: core.RequestCompleted, open: gone,
		},
		"store older, Redis empty": {
			breaks: func(s *parts) { s.older("drover.db"); s.emptyRedis() }, kinds: []string{"unfinished"}, done: core.RequestCompleted, open: gone,
		},
		"store missing, Redis empty": {
			breaks: func(s *parts) { s.remove("drover.db"); s.emptyRedis() }, refused: "is not the result store of the cluster whose files are in", names: []string{"backup"},
		},
		"store another's, Redis empty": {
			breaks: func(s *parts) { s.another("drover.db"); s.emptyRedis() }, refused: "is not the namespace", names: []string{"--namespace"},
		},
		"blobs missing, Redis empty": {
			breaks: func(s *parts) { s.remove("blobs"); s.emptyRedis() }, refused: "is not the blob store", names: []string{"backup"},
		},
		"store and blobs missing": {
			breaks: func(s *parts) { s.remove("drover.db", "blobs") }, refused: "is not the result store", names: []string{"backup"},
		},
		"all missing": {breaks: func(s *parts) { s.remove("drover.db", "blobs"); s.emptyRedis() }, done: gone, open: gone},
		"another namespace": {
			breaks:  func(s *parts) { s.redis = coretest.Real(s.t) },
			refused: "is not the namespace", names: []string{"--namespace", "migrate --adopt"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newParts(t)
			c.breaks(s)
			if c.refused != "" {
				for what, open := range map[string]func(context.Context, *config.Config) (*Cluster, error){"a command": OpenCluster, "a component": JoinCluster} {
					_, err := open(t.Context(), s.cfg())
					require.ErrorContains(t, err, c.refused, what)
					for _, word := range c.names {
						require.ErrorContains(t, err, word, what)
					}
				}
				return
			}
			h, err := OpenCluster(t.Context(), s.cfg())
			require.NoError(t, err)
			missing, _, err := h.FindMissingFiles(t.Context())
			require.NoError(t, err)
			require.Len(t, missing, c.files)
			require.NoError(t, h.Close())
			s.heals(c.kinds)
			h = s.join()
			defer func() { require.NoError(t, h.Close()) }()
			for id, want := range map[string]core.RequestState{s.done: c.done, s.open: c.open} {
				row, err := h.Store.Get(t.Context(), id)
				if want == gone {
					require.True(t, core.Is(err, core.CodeNotFound), "%v", err)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, want, row.State)
			}
		})
	}
}

// heals does what doctor, an overseer, a client and a host do.
func (s *parts) heals(kinds []string) {
	t, ctx := s.t, s.t.Context()
	t.Helper()
	h, err := OpenCluster(ctx, s.cfg())
	require.NoError(t, err)
	found, err := h.Consistency().CheckConsistency(ctx)
	require.NoError(t, err)
	var is []string
	for _, v := range found {
		if v.Rule == core.RuleLedger {
			is = append(is, v.ID)
		}
	}
	require.Equal(t, kinds, is)
	require.NoError(t, h.Join(ctx))
	_, err = h.Intake.RestorePools(ctx)
	require.NoError(t, err)
	for _, v := range found {
		_, err := h.Consistency().Mend(ctx, v)
		require.NoError(t, err)
	}
	if _, err := h.Intake.SweepAll(ctx); err != nil {
		require.NoError(t, err)
	}
	if _, err := h.Redis.GetPool(ctx, "p1"); core.Is(err, core.CodeNotFound) {
		require.NoError(t, h.Intake.SetPool(ctx, core.DefaultPool("p1")))
	}
	last := s.submit(h, "last")
	s.run(h, 5)
	row, err := h.Store.Get(ctx, last)
	require.NoError(t, err)
	require.Equal(t, core.RequestCompleted, row.State)
	found, err = h.Consistency().CheckConsistency(ctx)
	require.NoError(t, err)
	for _, v := range found {
		require.NotEqual(t, core.RuleLedger, v.Rule, v.Text)
	}
	require.NoError(t, h.Close())
}

func (s *parts) write(name, content string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(s.path(name), []byte(content), 0o600))
}

func (s *parts) mkdir(name string) {
	s.t.Helper()
	require.NoError(s.t, os.Mkdir(s.path(name), 0o700))
}

// A store runs its requests in one namespace at a time. It moves to another by a command, once nobody works with it.
func TestAStoreHasOneNamespace(t *testing.T) {
	t.Parallel()
	s := newParts(t)
	ctx := t.Context()
	was := s.cfg()
	h := s.join()
	c := coretest.NewCluster(t, h.Redis, "h1", "p1")
	before := s.redis
	fresh := coretest.Real(t)
	require.NoError(t, before.Admin.Do(ctx, "ACL", "SETUSER", fresh.Namespace, "~"+before.Namespace+":*").Err()) // one Redis, two namespaces
	s.redis = fresh
	_, err := Migrate(ctx, s.cfg(), true)
	require.Equal(t, core.CodeBusy, core.CodeOf(err))
	require.ErrorContains(t, err, "works in namespace "+before.Namespace)
	require.NoError(t, h.Join(ctx), "nothing has changed")

	require.NoError(t, h.Redis.Deregister(ctx, c.Runner, c.Epoch))
	require.NoError(t, h.Redis.Deregister(ctx, c.Factory, c.Made))
	did, err := Migrate(ctx, s.cfg(), false)
	require.NoError(t, err)
	require.Equal(t, did.From, did.To)
	require.NoError(t, h.Join(ctx), "a migration moves nothing")
	_, err = Migrate(ctx, s.cfg(), true)
	require.NoError(t, err)
	for what, err := range map[string]error{"one that was left there": h.Join(ctx), "a new one there": failure(JoinCluster(ctx, was)), "a command there": failure(OpenCluster(ctx, was))} {
		require.True(t, core.Is(err, core.CodeInvalid), what)
		require.ErrorContains(t, err, "the result store works with namespace "+fresh.Namespace, what)
		require.ErrorContains(t, err, "--namespace", what)
	}
	require.NoError(t, h.Close())
	s.heals([]string{"unfinished"})
}

func failure(_ *Cluster, err error) error { return err }

// What was lost for good is given up by a command.
func TestLostPartsAreGivenUp(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string][]string{"files": {"blobs"}, "result store": {"drover.db"}, "both": {"blobs", "drover.db"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newParts(t)
			s.remove(lost...)
			_, err := OpenCluster(t.Context(), s.cfg())
			require.True(t, core.Is(err, core.CodeInvalid), "%v", err)
			_, err = Migrate(t.Context(), s.cfg(), false)
			if lost[len(lost)-1] == "drover.db" {
				require.True(t, core.Is(err, core.CodeNotFound), "%v", err)
			}
			_, err = JoinCluster(t.Context(), s.cfg())
			require.True(t, core.Is(err, core.CodeInvalid), "%v", err)
			_, err = Migrate(t.Context(), s.cfg(), true)
			require.NoError(t, err)
			kinds := []string{"unknown"}
			if lost[len(lost)-1] != "drover.db" {
				kinds = nil
			}
			s.heals(kinds)
		})
	}
}

// A store of an older schema is not changed by one that opens it, whatever it does.
func TestOlderSchemaIsNamed(t *testing.T) {
	t.Parallel()
	s := newParts(t)
	db, err := sql.Open("sqlite", s.path("drover.db"))
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "DROP TABLE bindings; PRAGMA user_version = 22")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	for _, open := range []func(context.Context, *config.Config) (*Cluster, error){OpenCluster, JoinCluster} {
		_, err := open(t.Context(), s.cfg())
		require.True(t, core.Is(err, core.CodeVersion), "%v", err)
		require.ErrorContains(t, err, "drover migrate")
	}
	did, err := Migrate(t.Context(), s.cfg(), false)
	require.NoError(t, err)
	require.Equal(t, 22, did.From)
	require.FileExists(t, did.Copy)
	s.heals(nil)
}

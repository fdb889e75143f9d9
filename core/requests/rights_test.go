package requests_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"drover/core"
	"drover/core/requests"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// table is the table of rights: action → who → yes, no or hidden.
func table(t *testing.T) map[core.Action]map[string]string {
	t.Helper()
	raw, err := os.ReadFile("../classes/testdata/rights.txt")
	require.NoError(t, err)
	var who []string
	verdicts := map[core.Action]map[string]string{}
	for line := range strings.Lines(string(raw)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if words[0] == "action" {
			who = words[1:]
			continue
		}
		row := map[string]string{}
		for i, verdict := range words[1:] {
			row[who[i]] = verdict
		}
		verdicts[core.Action(words[0])] = row
	}
	delete(verdicts, "admin")
	return verdicts
}

var aType = core.JobType{Name: "compile", Pool: pool, Priority: core.PriorityNormal}

// batchOfAnn is a batch of ann's that waits.
func batchOfAnn(ctx context.Context, d *requests.Service) string {
	b, _, err := d.Intake.SubmitBatch(ctx, core.Batch{
		Submitter: "ann", Specs: []core.Spec{{Pool: pool, Submitter: "ann", Priority: core.PriorityLow, Command: []string{"true"}}},
	})
	if err != nil {
		return err.Error()
	}
	return b.ID
}

// calls are all calls for one request, which has ended where it must have.
var calls = map[string]struct {
	action core.Action
	do     func(ctx context.Context, d *requests.Service, a core.Actor, open, ended string) error
}{
	"View": {core.ActRequestView, func(ctx context.Context, d *requests.Service, a core.Actor, open, _ string) error {
		return done(d.View(ctx, a, open))
	}},
	"Status": {core.ActRequestView, func(ctx context.Context, d *requests.Service, a core.Actor, open, _ string) error {
		return done(d.Status(ctx, a, open))
	}},
	"Pools": {core.ActRequestCreate, func(ctx context.Context, d *requests.Service, a core.Actor, _, _ string) error {
		return done(d.Pools(ctx, a))
	}},
	"Waiting": {core.ActRequestView, func(ctx context.Context, d *requests.Service, a core.Actor, open, _ string) error {
		return done(d.Waiting(ctx, a, open))
	}},
	"Attempts": {core.ActRequestView, func(ctx context.Context, d *requests.Service, a core.Actor, _, ended string) error {
		return done(d.Attempts(ctx, a, ended))
	}},
	"OpenFile": {core.ActRequestView, func(ctx context.Context, d *requests.Service, a core.Actor, _, ended string) error {
		_, content, err := d.OpenFile(ctx, a, ended, "out.txt")
		if err != nil {
			return err
		}
		return content.Close()
	}},
	"Cancel": {core.ActRequestControl, func(ctx context.Context, d *requests.Service, a core.Actor, open, _ string) error {
		return done(d.Cancel(ctx, a, open))
	}},
	"Rerun": {core.ActRequestControl, func(ctx context.Context, d *requests.Service, a core.Actor, _, ended string) error {
		return done(d.Rerun(ctx, a, ended))
	}},
	"Explain": {core.ActRequestView, func(ctx context.Context, d *requests.Service, a core.Actor, _, ended string) error {
		return done(d.Explain(ctx, a, ended))
	}},
	"Row": {core.ActRequestView, func(ctx context.Context, d *requests.Service, a core.Actor, open, _ string) error {
		return done(d.Row(ctx, a, open))
	}},
	"ViewBatch": {core.ActRequestView, func(ctx context.Context, d *requests.Service, a core.Actor, _, _ string) error {
		return done(d.ViewBatch(ctx, a, batchOfAnn(ctx, d)))
	}},
	"BatchResults": {core.ActRequestView, func(ctx context.Context, d *requests.Service, a core.Actor, _, _ string) error {
		return done(d.BatchResults(ctx, a, batchOfAnn(ctx, d), 0, 0))
	}},
	"CancelBatch": {core.ActRequestControl, func(ctx context.Context, d *requests.Service, a core.Actor, _, _ string) error {
		return done(d.CancelBatch(ctx, a, batchOfAnn(ctx, d)))
	}},
	"RerunBatch": {core.ActRequestControl, func(ctx context.Context, d *requests.Service, a core.Actor, _, _ string) error {
		id := batchOfAnn(ctx, d)
		if _, err := d.Intake.CancelBatch(ctx, id, "test"); err != nil {
			return err
		}
		_, _, err := d.RerunBatch(ctx, a, id, "")
		return err
	}},
	"SubmitBatch": {core.ActRequestCreate, func(ctx context.Context, d *requests.Service, a core.Actor, _, _ string) error {
		_, _, err := d.SubmitBatch(ctx, a, jobs(1))
		return err
	}},
	"SubmitStoredBatch": {core.ActRequestCreate, func(ctx context.Context, d *requests.Service, a core.Actor, _, _ string) error {
		return done(d.SubmitStoredBatch(ctx, a, []core.Spec{{Pool: pool, Submitter: a.Handle, Command: []string{"true"}}}, ""))
	}},
	"CheckStored": {core.ActRequestCreate, func(ctx context.Context, d *requests.Service, a core.Actor, _, _ string) error {
		return done(d.CheckStored(ctx, a, []core.Spec{{}}))
	}},
	"SetJobType": {core.ActClusterOperate, func(ctx context.Context, d *requests.Service, a core.Actor, _, _ string) error {
		return done(d.SetJobType(ctx, a, aType))
	}},
	"SetTypeHarness": {core.ActClusterOperate, func(ctx context.Context, d *requests.Service, a core.Actor, _, _ string) error {
		_, err := d.SetTypeHarness(ctx, a, "gone", nil)
		if core.Is(err, core.CodeNotFound) {
			return nil
		}
		return err
	}},
	"DeleteJobType": {core.ActClusterOperate, func(ctx context.Context, d *requests.Service, a core.Actor, _, _ string) error {
		if err := d.Store.PutJobType(ctx, aType); err != nil {
			return err
		}
		return d.DeleteJobType(ctx, a, aType.Name)
	}},
	"SubmitStored": {core.ActRequestCreate, func(ctx context.Context, d *requests.Service, a core.Actor, _, _ string) error {
		return done(d.SubmitStored(ctx, a, core.Spec{Pool: pool, Command: []string{"true"}}))
	}},
	"Submit": {core.ActRequestCreate, func(ctx context.Context, d *requests.Service, a core.Actor, _, _ string) error {
		_, _, err := d.Submit(ctx, a, requests.Draft{Pool: pool, Command: []string{"true"}})
		return err
	}},
}

// Each call is made by everybody, and ends as the table of rights says.
func TestEveryCallChecksItsRight(t *testing.T) {
	t.Parallel()
	verdicts := table(t)
	codes := map[string]core.Code{"yes": "", "no": core.CodeForbidden, "hidden": core.CodeNotFound}
	for name, c := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			for who, verdict := range verdicts[c.action] {
				ended := w.submit("ann")
				claim := w.claim()
				digest, size, err := w.service.Blobs.Put(t.Context(), strings.NewReader("found"), 100)
				require.NoError(t, err)
				w.end(claim, func(r *core.Result) { r.Files = []core.File{{Path: "out.txt", Digest: digest, Size: size}} })
				open := w.submit("ann")
				err = c.do(t.Context(), w.service, as(who), open.ID, ended.ID)
				assert.Equal(t, codes[verdict], core.CodeOf(err), "%s by %s: %v", name, who, err)
				for _, id := range []string{open.ID, ended.ID} { // so that the next one's is claimed
					if _, err = w.in.Cancel(t.Context(), id, "test"); !core.Is(err, core.CodeEnded) {
						require.NoError(t, err)
					}
				}
			}
		})
	}
}

// A request that grades is its class's: who submitted sees it through the submission only,
// operators without what the tests found.
func TestGradingsAreTheirClasss(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	s := w.submit("ann", grading("cs101/hw1"))
	w.end(w.claim())
	for who, sees := range map[string]string{
		"root": "all", "tess": "all", "tina": "all", "olga": "bare", "otto": "", "rosa": "", "ann": "", "cleo": "", "theo": "", "nick": "",
	} {
		v, err := w.service.View(t.Context(), as(who), s.ID)
		if sees == "" {
			requireCode(t, core.CodeNotFound, err)
			unknown := newID()
			_, missing := w.service.View(t.Context(), as(who), unknown)
			require.Equal(t, strings.ReplaceAll(missing.Error(), unknown, s.ID), err.Error())
			continue
		}
		require.NoError(t, err, who)
		require.Equal(t, sees == "all", v.Stdout != "" && v.Score != nil, who)
		require.Equal(t, core.RequestCompleted, v.State)
		tries, err := w.service.Attempts(t.Context(), as(who), s.ID)
		require.NoError(t, err)
		require.Equal(t, sees == "all", tries[0].Result.Stdout != "", who)
	}
	requireCode(t, core.CodeForbidden, done(w.service.Rerun(t.Context(), as("tess"), s.ID)))
	require.NoError(t, done(w.service.Rerun(t.Context(), as("olga"), s.ID)))
	waiting, err := w.service.Waiting(t.Context(), as("ann"), s.ID)
	require.NoError(t, err, "it waits again, and whose submission it is may know why")
	require.NotNil(t, waiting)
	requireCode(t, core.CodeNotFound, done(w.service.Waiting(t.Context(), as("cleo"), s.ID)))
	tries, err := w.service.Attempts(t.Context(), as("ann"), s.ID)
	require.NoError(t, err, "and how often it was tried")
	require.Len(t, tries, 1)
	require.Equal(t, []any{"", "", (*float64)(nil)}, []any{tries[0].Result.Stdout, tries[0].Result.Host, tries[0].Result.Score})
	requireCode(t, core.CodeNotFound, done(w.service.Attempts(t.Context(), as("cleo"), s.ID)))
}

// Who does not watch the cluster learns nothing of hosts, VMs and values of the environment.
func TestViewKeepsSecrets(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	s := w.submit("rosa")
	w.claim()
	for who, watches := range map[string]bool{"rosa": false, "olga": true} {
		v, err := w.service.View(t.Context(), as(who), s.ID)
		require.NoError(t, err)
		require.Equal(t, []string{"KEY"}, v.Env)
		require.Equal(t, core.RequestClaimed, v.State)
		require.Equal(t, watches, v.Host+v.VM+v.Token+v.Place.Owner != "", who)
	}
}

func TestListShowsWhatViewDoes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var all []string
	for _, who := range []string{"ann", "rosa", "ann"} {
		all = append(all, w.submit(who).ID)
	}
	all = append(all, w.submit("ann", grading("cs101/hw1")).ID)
	for _, who := range []string{"root", "olga", "otto", "rosa", "ann", "tess", "nick"} {
		var listed, seen []string
		for before := ""; ; {
			page, err := w.service.List(t.Context(), as(who), requests.Filter{Limit: 1, Before: before})
			require.NoError(t, err, who)
			for _, v := range page.Items {
				listed = append(listed, v.ID)
			}
			if before = page.Next; before == "" {
				break
			}
		}
		for _, id := range all {
			if _, err := w.service.View(t.Context(), as(who), id); err == nil && who != "tess" {
				seen = append(seen, id)
			}
		}
		require.ElementsMatch(t, seen, listed, who)
	}
	requireCode(t, core.CodeForbidden, done(w.service.List(t.Context(), as("rosa"), requests.Filter{Submitter: "ann"})))
	requireCode(t, core.CodeInvalid, done(w.service.List(t.Context(), as("root"), requests.Filter{Limit: 1001})))
	requireCode(t, core.CodeInvalid, done(w.service.List(t.Context(), as("root"), requests.Filter{States: []core.RequestState{"odd"}})))
	w.claim()
	page, err := w.service.List(t.Context(), as("root"), requests.Filter{States: []core.RequestState{core.RequestClaimed}})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
}

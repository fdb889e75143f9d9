package api_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"drover/core"
	"drover/core/school"
	"drover/web/api"
	"drover/web/forgetest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// forge starts a server of repositories from which the site fetches.
func (w *fixture) forge() *forgetest.Forge {
	w.t.Helper()
	f := forgetest.New(w.t)
	w.from.Hosts, w.from.Port, w.from.Cert = []string{f.Host}, f.Port, f.Cert
	w.from.Addresses.Allowed = []netip.Prefix{netip.MustParsePrefix(forgetest.Network)}
	return f
}

const hw1Git = hw1 + "/submissions/git"

// A commit is submitted, once for each idempotency key, and is kept with its submission.
func TestACommitIsSubmitted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	f := w.forge()
	first := f.Commit(map[string]string{"main.py": "print()\n", "lib/a.py": "x"})
	f.Git("tag", "v1")
	var s, again, newest school.Submission
	a := w.keyed("ann", hw1Git, "k1", object{"address": f.URL + "/hw1", "ref": "v1"}).is(http.StatusCreated)
	a.into(&s)
	assert.Equal(t, api.Prefix+"/submissions/"+s.ID, a.Header().Get("Location"))
	assert.Equal(t, &school.Source{Address: f.URL + "/hw1", Ref: "v1", Commit: first}, s.Source)
	second := f.Commit(map[string]string{"main.py": "print(2)\n"})
	w.keyed("ann", hw1Git, "k1", object{"address": f.URL + "/hw1"}).is(http.StatusCreated).into(&again)
	assert.Equal(t, s.ID, again.ID, "the same key is the same submission")
	assert.Equal(t, first, again.Source.Commit)
	w.keyed("tess", hw1Git+"?user=ann&kind=final", "k2", object{"address": f.URL + "/hw1"}).is(http.StatusCreated).into(&newest)
	assert.Equal(t, []string{second, "ann", "tess", "final"}, []string{newest.Source.Commit, newest.User, newest.By, newest.Kind})
	file := w.call("ann", "GET", "/submissions/"+newest.ID+"/files/main.py", nil).is(http.StatusOK)
	assert.Equal(t, "print(2)\n", file.Body.String())
}

// Each refusal of a commit says what is wrong and how to mend it, and nothing is submitted.
func TestCommitsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1", func(as *school.Assignment) { as.MaxBytes, as.Required = 1000, []string{"main.py"} })
	submits := func(user, address, ref string) api.Problem {
		return w.call(user, "POST", hw1Git, object{"address": address, "ref": ref}).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	}
	assert.Contains(t, submits("ann", "https://github.com/ann/hw1", "").Detail, "no repositories are fetched here: submit files")
	f := w.forge()
	f.Commit(map[string]string{"main.py": "print()\n"})
	f.Git("checkout", "--quiet", "-b", "without")
	f.Git("mv", "main.py", "other.py")
	f.Commit(nil)
	f.Git("checkout", "--quiet", "-b", "large")
	f.Commit(map[string]string{"main.py": strings.Repeat("x", 1001)})
	for _, test := range []struct{ address, ref, says string }{
		{"", "", "has no address: write one such as https://" + f.Host},
		{"http://github.com/ann/hw1", "", "must begin with https://"},
		{"file:///etc", "", "must begin with https://"},
		{"https://ann:pw@" + f.Host + "/hw1", "", "must not hold a name or a password: it must be public"},
		{f.URL + "/hw1?x=1", "", "names no repository: write one such as"},
		{"https://169.254.169.254/latest", "", "are fetched from " + f.Host},
		{f.URL + "/hw1", "--upload-pack=x", "is no name of a branch or tag"},
		{f.URL + "/hw1", "nowhere", "has no branch, tag or commit \"nowhere\""},
		{f.URL + "/hw1", "without", "wants files that are missing: main.py"},
		{f.URL + "/secret/hw1", "", "is not public"},
		{f.URL + "/away/hw1", "", "cannot be fetched"},
	} {
		p := submits("ann", test.address, test.ref)
		assert.Contains(t, p.Detail, test.says, test.address)
		assert.NotContains(t, p.Detail, "pw@")
	}
	address := object{"address": f.URL + "/hw1"}
	w.call("ann", "POST", hw1Git, object{"address": f.URL + "/hw1", "ref": "large"}).problem(http.StatusRequestEntityTooLarge, core.CodeLimit)
	w.call("ann", "POST", hw1Git, object{"address": "https://" + strings.Repeat("x", 300)}).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.call("ann", "POST", hw1Git, object{"address": f.URL + "/hw1", "branch": "x"}).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.keyed("ann", hw1Git, strings.Repeat("k", 101), address).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.from.Addresses.Allowed = nil
	assert.Contains(t, submits("ann", f.URL+"/hw1", "").Detail, "a network from which nothing is fetched")
	w.refusedBeforeFetching(f)
	w.nothingLeft()
	for _, sent := range f.Asked() {
		assert.Empty(t, sent, "no credentials are sent")
	}
}

// refusedBeforeFetching requires that a forge is not asked for those who may not submit.
func (w *fixture) refusedBeforeFetching(f *forgetest.Forge) {
	w.t.Helper()
	before, address := len(f.Asked()), object{"address": f.URL + "/hw1"}
	w.call("eve", "POST", hw1Git, address).problem(http.StatusNotFound, core.CodeNotFound)
	w.call("cleo", "POST", hw1Git+"?user=ann", address).problem(http.StatusForbidden, core.CodeForbidden)
	w.call("ann", "POST", hw1+"x/submissions/git", address).problem(http.StatusNotFound, core.CodeNotFound)
	w.send(nil, httptest.NewRequest(http.MethodPost, api.Prefix+hw1Git, strings.NewReader("{}"))).is(http.StatusUnauthorized)
	w.assignment("old", func(as *school.Assignment) { as.Due, as.Cutoff = start-day, start-hour })
	w.call("ann", "POST", "/classes/cs101/assignments/old/submissions/git", address).problem(http.StatusConflict, core.CodeEnded)
	require.Len(w.t, f.Asked(), before)
}

package main

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/wiring"
	"drover/core/coretest/tier"
	"drover/web/browsertest"
)

// slowHarness says what it does before it is done with it.
const slowHarness = `#!/bin/sh
# It starts nothing that was submitted, so it needs no drover-run.
echo "compiling what was submitted" >&2
grep -q right "$DROVER_SUBMISSION/answer.txt" && score=1 || score=0
printf '{"score":%d,"max_score":1,"tests":[{"name":"answer","score":%d,"max_score":1,"message":"Say what is **right**."}]}\n' $score $score
`

// school is a cluster in one process with its site, and a class.
type campus struct {
	*testCluster
	url string
	b   *browsertest.Browser
}

// People use the site of a real cluster in real browsers: the first admin comes in by the link
// that up prints, a student submits and watches the tests to their end, staff edit and test
// anew, an operator drains a host, and who looks on sees it. One story: later people use
// what earlier ones made.
func TestPeopleUseTheSite(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	h := newTestCluster(t)
	b := browsertest.Start(t)
	up := h.up("--listen", "127.0.0.1:0")
	site := regexp.MustCompile(`the site is at (http://\S+)`)
	await(t, "the site is up", func() bool { return strings.Contains(up.said(), wiring.AdminLinkFile) })
	link, err := os.ReadFile(filepath.Join(h.cfg.Data, wiring.AdminLinkFile))
	require.NoError(t, err)
	s := &campus{testCluster: h, url: site.FindStringSubmatch(up.said())[1], b: b}
	s.said("pool", "set", "default")

	root := s.enter(strings.TrimSpace(string(link)))
	s.foundClass(t.TempDir())
	root.Goto(s.url + "/users")
	root.Await("tess")
	ann := s.handsIn(t.TempDir())
	s.staffEditsAndTestsAnew(ann)
	s.operatorDrains(root)
	up.stop()
	s.requireNothingLeft()
}

// enter opens a window by a sign-in link, which asks for a new password.
func (s *campus) enter(link string) *browsertest.Tab {
	s.t.Helper()
	tab := s.b.Tab(s.t)
	tab.Goto(link)
	tab.Click("main button")
	tab.AwaitPath("/account/password")
	tab.Fill("[name=password]", "a password of many words")
	tab.Fill("[name=again]", "a password of many words")
	tab.Click("main button")
	tab.Await("Your password was changed")
	return tab
}

// as opens a window of a user.
func (s *campus) as(user string) *browsertest.Tab {
	s.t.Helper()
	printed := strings.TrimSpace(s.said("user", "link", user))
	u, err := url.Parse(printed[strings.LastIndex(printed, "http"):])
	require.NoError(s.t, err, printed)
	return s.enter(s.url + u.RequestURI())
}

// foundClass makes people, a class and an assignment.
func (s *campus) foundClass(dir string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(filepath.Join(dir, "main"), []byte(slowHarness), 0o700))
	require.NoError(s.t, os.WriteFile(filepath.Join(dir, "harness.json"), []byte("{}"), 0o600))
	s.said("class", "add", "--title", "Answers", "cs1")
	for user, role := range map[string]string{"tess": "teacher", "ann": "student"} {
		s.said("user", "add", user)
		s.said("class", "enrol", "--role", role, "cs1", user)
	}
	s.said("user", "add", "--role", "operator", "olga")
	s.said("assignment", "add", "--due", "+7d", "--show-output", "--harness", dir, "cs1/answer")
}

// handsIn is a student who submits by the page and watches, and never loads a page again.
func (s *campus) handsIn(dir string) *browsertest.Tab {
	s.t.Helper()
	file := filepath.Join(dir, "answer.txt")
	require.NoError(s.t, os.WriteFile(file, []byte("perhaps\n"), 0o600))
	tab := s.as("ann")
	tab.Goto(s.url + "/")
	tab.Press("answer")
	tab.AwaitPath("/classes/cs1/assignments/answer")
	tab.Choose("input[type=file]:not([webkitdirectory])", file)
	s.said("pool", "set", "--paused", "default")
	tab.Click("[data-send] button")
	tab.Await("paused for now. It keeps its place.")
	require.InDelta(s.t, 1, tab.Number("window.stayed = 1"), 0)
	s.said("pool", "set", "--paused=false", "default")
	tab.Await("compiling what was submitted")
	tab.Await("0 of 1")
	tab.Await("Say what is right.")
	require.InDelta(s.t, 1, tab.Number("window.stayed || 0"), 0, "the result came without a new page")
	return tab
}

// staffEditsAndTestsAnew is a teacher who moves the due date and has all tested anew.
func (s *campus) staffEditsAndTestsAnew(ann *browsertest.Tab) {
	s.t.Helper()
	tab := s.as("tess")
	tab.Goto(s.url + "/classes/cs1/assignments/answer/edit")
	tab.Fill("[name=title]", "The answer, anew")
	tab.Press("Save")
	tab.Await("is saved")
	ann.Goto(s.url + "/classes/cs1/assignments/answer")
	ann.Await("The answer, anew")
	tab.Goto(s.url + "/classes/cs1/assignments/answer/experiments")
	tab.Press("Begin")
	tab.Await("Yes, apply it")
	tab.Click("form[action$='/apply'] input[type=checkbox]")
	tab.Click("form[action$='/apply'] button")
	tab.Await("applied")
}

// operatorDrains is an operator who drains the host while the admin looks on.
func (s *campus) operatorDrains(root *browsertest.Tab) {
	s.t.Helper()
	root.Goto(s.url + "/cluster")
	root.Await("1 host up")
	tab := s.as("olga")
	tab.Goto(s.url + "/cluster/hosts/h1")
	tab.Click("form[action$='/drain'] button")
	tab.Click("dialog button[value=yes]")
	tab.Await("Undrain")
	root.Await("drained")
}

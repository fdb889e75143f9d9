package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/cmd/drover/demo"
	"drover/core/coretest/tier"
	"drover/web/browsertest"
)

// pagesOfAKind is how many pages that differ only in an id or a name a walk looks at.
const pagesOfAKind = 2

// demoSite is drover demo --keep.
type demoSite struct {
	url, password string

	mu       sync.Mutex
	pictures map[string][][2]string // user → the kind and the picture of a page
}

func startDemoSite(t *testing.T) *demoSite {
	t.Helper()
	h := newTestCluster(t, neverLate)
	p := h.start("demo", "--keep", "--listen", "127.0.0.1:0")
	at := regexp.MustCompile(`the site is at (http://\S+) until`)
	await(t, "the site is up", func() bool { return at.MatchString(p.said()) })
	password := regexp.MustCompile(`(?m)^ root +(\S+)`).FindStringSubmatch(p.said())
	require.NotNil(t, password, p.said())
	t.Cleanup(func() {
		p.signal(syscall.SIGINT)
		p.await()
		require.Zero(t, p.cmd.ProcessState.ExitCode(), p.said())
	})
	return &demoSite{url: at.FindStringSubmatch(p.said())[1], password: password[1], pictures: map[string][][2]string{}}
}

// signIn opens a window of somebody's own.
func (s *demoSite) signIn(t *testing.T, b *browsertest.Browser, user string) *browsertest.Tab {
	t.Helper()
	tab := b.Tab(t)
	tab.Goto(s.url + "/")
	tab.AwaitPath("/sign-in")
	tab.Fill("[name=user]", user)
	tab.Fill("[name=password]", s.password)
	tab.Click("main button")
	tab.AwaitPath("/")
	return tab
}

// Everybody's pages, found by following every link from the first: none leads astray, all
// are small, fit a phone and can be used by all, in the light and in English as in the dark and in German. With
// DROVER_PICTURES set to a folder it leaves pictures there, one of each kind of page, and a list of them beside it: make pictures.
func TestDemoSite(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	site, b := startDemoSite(t), browsertest.Start(t)
	t.Cleanup(func() { site.album(t) })
	for _, user := range []string{"ann", demo.DemoTeacher, "olga"} {
		t.Run(user, func(t *testing.T) {
			tab := site.signIn(t, b, user)
			seen := map[string]int{}
			var all []string
			for next, todo := "/", []string{"/looks"}; ; next, todo = todo[0], todo[1:] {
				all = append(all, next)
				for _, link := range site.look(t, tab, user, next) {
					if kind := kindOfPage(link); seen[kind] < pagesOfAKind {
						if seen[link]++; seen[link] == 1 {
							if kind != link {
								seen[kind]++
							}
							todo = append(todo, link)
						}
					}
				}
				if len(todo) == 0 {
					break
				}
			}
			tab.Press("Deutsch")
			tab.Await("Abmelden")
			for _, path := range all {
				tab.Goto(site.url + path)
				assert.Empty(t, tab.Axe(), "%s as %s, in German", path, user)
				assert.Zero(t, tab.Overflow(), "%s as %s, in German, is wider than a phone", path, user)
			}
		})
	}
}

// look opens a page, requires that it is good, and returns where its links lead.
func (s *demoSite) look(t *testing.T, tab *browsertest.Tab, user, path string) []string {
	t.Helper()
	tab.Screen(1280, 900, false)
	tab.Goto(s.url + path)
	assert.Equal(t, 200, tab.Status(), "%s as %s", path, user)
	assert.Less(t, tab.Bytes(), 100_000, "%s as %s", path, user)
	assert.Empty(t, tab.Axe(), "%s as %s", path, user)
	links := tab.Links()
	s.picture(tab, user, path, "light")
	s.tabs(t, tab, path)
	tab.Screen(360, 740, true)
	assert.Zero(t, tab.Overflow(), "%s as %s is wider than a phone", path, user)
	s.picture(tab, user, path, "phone")
	var pages []string
	for _, link := range links {
		if !strings.HasPrefix(link, "/api/") && !strings.Contains(link, "/files/") && !strings.HasSuffix(link, "/zip") && !strings.HasSuffix(link, "/download") {
			pages = append(pages, link)
		}
	}
	return pages
}

// tabs opens what is behind each tab of a page.
func (s *demoSite) tabs(t *testing.T, tab *browsertest.Tab, path string) {
	t.Helper()
	for i := range int(tab.Number(`document.querySelectorAll("[role=tab]").length`)) {
		tab.Click(fmt.Sprintf("[role=tab]:nth-of-type(%d)", i+1))
		assert.Empty(t, tab.Axe(), "%s, tab %d", path, i+1)
		tab.Screen(360, 740, true)
		assert.Zero(t, tab.Overflow(), "%s, tab %d, is wider than a phone", path, i+1)
		assert.Empty(t, tab.Axe(), "%s, tab %d, in the dark", path, i+1)
		tab.Screen(1280, 900, false)
	}
}

// picture takes a picture of the page that a window shows.
func (s *demoSite) picture(tab *browsertest.Tab, user, path, how string) {
	dir := os.Getenv("DROVER_PICTURES")
	if dir == "" {
		return
	}
	name := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(kindOfPage(path), "-"), "-")
	name = user + "-" + cmp.Or(name, "home") + "-" + how + ".webp"
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.pictures[user], func(taken [2]string) bool { return taken[1] == name }) {
		return // the first page leads to itself
	}
	tab.Screenshot(filepath.Join(dir, name))
	s.pictures[user] = append(s.pictures[user], [2]string{kindOfPage(path), name})
}

// album lists the pictures of each user's pages, in the order in which they were found.
func (s *demoSite) album(t *testing.T) {
	t.Helper()
	dir := os.Getenv("DROVER_PICTURES")
	if dir == "" {
		return
	}
	var text strings.Builder
	text.WriteString("# Pictures of each page\n\n`make pictures` takes them on the site of `drover demo --keep`, and writes this list: on a desktop and, in the dark, on a\nphone. Run it before and after a change of pages, and let `git diff` show what looks different.\n")
	for _, user := range []string{"ann", demo.DemoTeacher, "olga"} {
		fmt.Fprintf(&text, "\n## As %s\n\n| page | desktop | phone, dark |\n|---|---|---|\n", user)
		for i := 0; i+1 < len(s.pictures[user]); i += 2 {
			wide, phone := s.pictures[user][i], s.pictures[user][i+1]
			at := filepath.Base(dir)
			fmt.Fprintf(&text, "| `%s` | ![](%s/%s) | ![](%s/%s) |\n", wide[0], at, wide[1], at, phone[1])
		}
	}
	require.NoError(t, os.WriteFile(dir+".md", []byte(text.String()), 0o600))
}

// What varies in the paths of pages of a kind.
var varies = []*regexp.Regexp{
	regexp.MustCompile(`[0-9a-z]{26}`), // an id
	regexp.MustCompile(`(students|hosts|pools|users)/[^/?]+`), regexp.MustCompile(`(assignments)/[^/?]+`), regexp.MustCompile(`(=)[^&]+`),
}

func kindOfPage(path string) string {
	for _, v := range varies {
		path = v.ReplaceAllString(path, "$1…")
	}
	return path
}

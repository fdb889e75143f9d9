package main

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/cmd/drover/demo"
	"drover/web/browsertest"
)

// pagesOfAKind is how many pages that differ only in an id or a name a walk looks at.
const pagesOfAKind = 1

// demoSite is drover demo --keep.
type demoSite struct {
	url, password string
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
	return &demoSite{url: at.FindStringSubmatch(p.said())[1], password: password[1]}
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
// are small and fit a phone. (What axe-core says of them the sections' own tests ask.) With
// DROVER_PICTURES set to a folder it leaves pictures there.
func TestDemoSite(t *testing.T) {
	t.Parallel()
	site, b := startDemoSite(t), browsertest.Start(t)
	for _, user := range []string{"ann", demo.DemoTeacher, "olga"} {
		t.Run(user, func(t *testing.T) {
			tab := site.signIn(t, b, user)
			seen := map[string]int{}
			for next, todo := "/", []string(nil); ; next, todo = todo[0], todo[1:] {
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
	links := tab.Links()
	s.picture(tab, user, path, "light")
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

func (s *demoSite) picture(tab *browsertest.Tab, user, path, how string) {
	if dir := os.Getenv("DROVER_PICTURES"); dir != "" {
		tab.Screenshot(filepath.Join(dir, user+strings.ReplaceAll(url.PathEscape(path), "%2F", "_")+"_"+how+".png"))
	}
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

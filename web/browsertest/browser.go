// Package browsertest drives a real Chromium for the tests of pages: as a person with a
// mouse, a narrow screen, a dark screen, or no script. Everywhere drives a real Firefox as well.
package browsertest

import (
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"drover/core/coretest"
	"drover/core/coretest/tier"
)

// timeout bounds one step of a person. It is long: it is no measurement.
const timeout = 5 * time.Minute

// Browser is the Chromium of a test program. Its windows share nothing, see Tab.
type Browser struct {
	ctx context.Context
}

// running is the browser while tests use it: a new one for each would take seconds of processor time.
var running struct {
	sync.Mutex

	users   int
	browser *Browser
	end     func() error
}

// Start returns the browser, which ends with the last test that has it.
func Start(t *testing.T) *Browser {
	t.Helper()
	tier.Need(t, tier.Browser)
	path, err := exec.LookPath("chromium")
	if err != nil {
		coretest.Missing(t, "chromium", err)
	}
	running.Lock()
	defer running.Unlock()
	if running.users == 0 {
		running.browser, running.end, err = start(path)
		require.NoError(t, err, "chromium does not start")
	}
	running.users++
	t.Cleanup(func() {
		running.Lock()
		defer running.Unlock()
		if running.users--; running.users == 0 {
			require.NoError(t, running.end())
		}
	})
	return running.browser
}

// start starts a browser with a profile of its own.
func start(path string) (*Browser, func() error, error) {
	// A browser that is killed leaves the shared memory that it was just making. The folder's name is short, because it
	// becomes part of a socket's.
	scratch, err := os.MkdirTemp("", "chromium")
	if err != nil {
		return nil, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(filepath.Join(scratch, "profile")), chromedp.Env("TMPDIR="+scratch),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-dev-shm-usage", true),
	)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	first, end := chromedp.NewContext(ctx)
	if err := chromedp.Do(first); err != nil {
		stop()
		return nil, nil, errors.Join(err, os.RemoveAll(scratch))
	}
	return &Browser{ctx: first}, func() error {
		err := chromedp.Cancel(first)
		end()
		stop()
		return errors.Join(err, os.RemoveAll(scratch))
	}, nil
}

// Tab is one person's window: it shares no cookies with others.
type Tab struct {
	t   *testing.T
	ctx context.Context
}

// Tab opens a window. A script that failed, or something that the site's own policy
// refused, fails the test in the end.
func (b *Browser) Tab(t *testing.T) *Tab {
	t.Helper()
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	tab := &Tab{t: t, ctx: ctx}
	messages := chromedp.Console(ctx)
	faults := make(chan []string, 1)
	go func() { faults <- wrong(messages) }()
	tab.do()
	t.Cleanup(func() {
		end()
		require.Empty(t, <-faults, "the browser's console")
	})
	return tab
}

// wrong are the faults that a console told of, until its window is closed. A page that
// answers with an error status is the test's business.
func wrong(messages iter.Seq2[chromedp.ConsoleMessage, error]) (faults []string) {
	for m, err := range messages {
		if err != nil {
			break
		}
		if m.IsException() || m.Type == "error" && m.Source != "network" {
			faults = append(faults, m.String())
		}
	}
	return faults
}

// do does what a person does, and fails the test if that cannot be done.
func (tab *Tab) do(steps ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	get(tab, chromedp.Steps(steps...))
}

// get does what a person does and returns what that gave.
func get[T any](tab *Tab, action chromedp.Action[T]) T {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, timeout)
	defer cancel()
	got, err := chromedp.Run(ctx, action)
	for ctx.Err() == nil && replaced(err) {
		got, err = chromedp.Run(ctx, action)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		tab.t.Logf("the page then: %s", tab.see())
	}
	require.NoError(tab.t, err)
	return got
}

// replaced says that a script put another element in the place of the one that had just been found, before anything was
// done to it: a person looks again.
func replaced(err error) bool {
	var e *cdproto.Error
	return errors.As(err, &e) && e.Message == "Could not find node with given id"
}

// see returns the page's text, for a message.
func (tab *Tab) see() string {
	ctx, cancel := context.WithTimeout(tab.ctx, timeout)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}

// axeFile is what make axe installed.
func axeFile() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "scripts", "browser", "node_modules", "axe-core", "axe.min.js")
}

// Axe returns what is seriously wrong with the page for those who use it by keyboard or
// ear, one line each, as axe-core finds it.
func (tab *Tab) Axe() []string {
	tab.t.Helper()
	script, err := os.ReadFile(axeFile())
	if err != nil {
		coretest.Missing(tab.t, "axe-core (make axe)", err)
	}
	if tab.Number(`Number(typeof axe === "undefined")`) > 0 { // the page is not told of it yet
		get(tab, chromedp.Evaluate[int](string(script)+";1"))
	}
	found := get(tab, chromedp.Evaluate[[]violation](`axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations)`, chromedp.EvalAwaitPromise))
	var lines []string
	for _, v := range found {
		if v.Impact != "serious" && v.Impact != "critical" {
			continue
		}
		for _, n := range v.Nodes {
			lines = append(lines, strings.Join([]string{v.Impact, v.ID, v.Help, n.HTML}, " | "))
		}
	}
	return lines
}

// violation is what axe-core tells of one rule.
type violation struct {
	ID     string `json:"id"`
	Impact string `json:"impact"`
	Help   string `json:"help"`
	Nodes  []struct {
		HTML string `json:"html"`
	} `json:"nodes"`
}

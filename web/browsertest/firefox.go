package browsertest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/coretest"
	"drover/core/coretest/tier"
)

// Firefox is one Firefox, with a profile of its own.
type Firefox struct {
	bidi *bidi

	mu     sync.Mutex
	faults map[string][]string // window → what its console told of
}

// settings keep Firefox from calling home, and from asking anything.
const settings = `user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);
user_pref("app.update.disabledForTesting", true);
user_pref("app.normandy.enabled", false);
user_pref("browser.safebrowsing.downloads.remote.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("services.settings.server", "data:,#remote-settings-dummy/v1");
`

// StartFirefox starts a browser that ends with the test.
func StartFirefox(t *testing.T) *Firefox {
	t.Helper()
	tier.Need(t, tier.Browser)
	path, err := exec.LookPath("firefox-esr")
	if err != nil {
		coretest.Missing(t, "firefox-esr", err)
	}
	home, err := os.MkdirTemp("", "firefox")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(home)) })
	profile := filepath.Join(home, "profile")
	require.NoError(t, os.Mkdir(profile, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(profile, "user.js"), []byte(settings), 0o600))
	cmd := exec.Command(path, "--headless", "--no-remote", "--remote-debugging-port", "0", "--profile", profile, "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, "MOZ_CRASHREPORTER_DISABLE=1", "XDG_RUNTIME_DIR="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	words, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said, read := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(read)
		listen(bufio.NewScanner(words), said)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with the processes of its pages
		<-read
		_ = cmd.Wait() // it was killed
	})
	f := &Firefox{faults: map[string][]string{}}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	select {
	case url, ok := <-said:
		require.True(t, ok, "firefox does not start")
		f.bidi, err = dialBidi(ctx, url+"/session", f.told)
		require.NoError(t, err)
	case <-ctx.Done():
		t.Fatal("firefox does not listen")
	}
	t.Cleanup(f.bidi.close)
	require.NoError(t, f.bidi.call(ctx, "session.new", map[string]any{"capabilities": map[string]any{}}, nil))
	require.NoError(t, f.bidi.call(ctx, "session.subscribe", map[string]any{"events": []string{"log.entryAdded"}}, nil))
	return f
}

// listen reads what the browser prints until it ends, and passes on where it listens.
func listen(lines *bufio.Scanner, said chan<- string) {
	defer close(said)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "WebDriver BiDi listening on "); ok {
			said <- url
			for lines.Scan() { // or it could not go on
			}
			return
		}
	}
}

// told takes in an entry of a console.
func (f *Firefox) told(_ string, params json.RawMessage) {
	var entry struct {
		Level  string
		Type   string
		Text   string
		Source struct{ Context string }
	}
	if json.Unmarshal(params, &entry) != nil || entry.Level != "error" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[entry.Source.Context] = append(f.faults[entry.Source.Context], entry.Type+": "+entry.Text)
}

// Tab opens a window: it shares no cookies with others. A script that failed, or something that the site's own policy
// refused, fails the test in the end.
func (f *Firefox) Tab(t *testing.T) *FirefoxTab {
	t.Helper()
	tab := &FirefoxTab{t: t, of: f}
	var user struct{ UserContext string }
	tab.call("browser.createUserContext", map[string]any{}, &user)
	var window struct{ Context string }
	tab.call("browsingContext.create", map[string]any{"type": "tab", "userContext": user.UserContext}, &window)
	tab.id = window.Context
	t.Cleanup(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		require.Empty(t, f.faults[tab.id], "the browser's console")
	})
	return tab
}

// FirefoxTab is one person's window in Firefox.
type FirefoxTab struct {
	t  *testing.T
	of *Firefox
	id string
}

func (tab *FirefoxTab) call(method string, params map[string]any, out any) {
	tab.t.Helper()
	require.NoError(tab.t, tab.try(method, params, out))
}

func (tab *FirefoxTab) try(method string, params map[string]any, out any) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if tab.id != "" {
		params["context"] = tab.id
	}
	return tab.of.bidi.call(ctx, method, params, out)
}

// errThrown is an expression that failed in the page.
var errThrown = errors.New("the page's script failed")

// run runs an expression in the page, as its console would.
func (tab *FirefoxTab) run(expression string, out any) error {
	var got struct {
		Type             string
		Result           struct{ Value json.RawMessage }
		ExceptionDetails struct{ Text string }
	}
	params := map[string]any{"expression": expression, "target": map[string]any{"context": tab.id}, "awaitPromise": true}
	if err := tab.try("script.evaluate", params, &got); err != nil {
		return err
	}
	if got.Type != "success" {
		return errors.Join(errThrown, errors.New(got.ExceptionDetails.Text))
	}
	return json.Unmarshal(got.Result.Value, out)
}

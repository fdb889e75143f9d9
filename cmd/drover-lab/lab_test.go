package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/terminal"
	"drover/core/coretest"
	"drover/core/service"
	"drover/vmfactory/local"
)

// asProgram in the environment makes this program of tests be drover-lab.
const asProgram = "TEST_IS_DROVER_LAB"

// testTimeout is how long a test waits for something that must happen.
const testTimeout = 15 * time.Minute

// programDir is where tests build; TestMain removes it.
var programDir *service.Scratch

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	code := m.Run()
	if programDir != nil {
		_ = programDir.Remove() // a temporary folder
	}
	os.Exit(code)
}

// programs builds drover and drover-lab once for all tests of real processes, and returns their folder.
var programs = sync.OnceValues(func() (string, error) {
	var err error
	if programDir, err = service.NewScratch("drover-program-"); err != nil {
		return "", err
	}
	if err := os.Chmod(programDir.Dir, 0o755); err != nil { // VMs have other users
		return "", err
	}
	cmd := exec.Command("go", "build", "-ldflags=-w", "-o", programDir.Dir, ".", "../drover")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return programDir.Dir, nil
})

// lab returns the path of drover-lab, with drover beside it, for a test that starts clusters.
func lab(t *testing.T) string {
	t.Helper()
	dir, err := programs()
	require.NoError(t, err)
	if _, err := exec.LookPath("redis-server"); err != nil {
		coretest.Missing(t, "redis-server", err)
	}
	if provider, err := local.New(local.Config{Run: t.TempDir()}); err != nil || provider.Ready(t.Context()) != nil {
		coretest.Missing(t, "a kernel that lets us make VMs", err)
	}
	return filepath.Join(dir, "drover-lab")
}

// turn is whose run it is: the library of the command line has its flag --help but once.
var turn sync.Mutex

// typeIn runs the program in this process, one at a time.
func typeIn(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	turn.Lock()
	defer turn.Unlock()
	return run(ctx, append([]string{"drover-lab"}, args...), stdin, stdout, stderr)
}

// Each command line of this program that a document shows names commands and flags that there are.
func TestDocumentsNameWhatIsThere(t *testing.T) {
	t.Parallel()
	turn.Lock()
	defer turn.Unlock()
	// takes says whether the command line is good. Nothing is done.
	takes := func(line string) bool {
		all := commands()
		for _, cmd := range slices.Concat(all, all[0].Subcommands) {
			if len(cmd.Subcommands) == 0 {
				cmd.Action = func(*cli.Context) error { return nil }
			}
		}
		app := &cli.App{Name: "drover-lab", Commands: all}
		return terminal.Run(t.Context(), app, append([]string{"drover-lab"}, strings.Fields(line)...), nil, io.Discard, io.Discard) == 0
	}
	require.False(t, takes("bench nosuch"))
	require.False(t, takes("drill --nosuch"))
	require.False(t, takes("nosuch"))
	docs, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	line := regexp.MustCompile("(?m)^ *(?:bin/)?drover-lab ([^#>\n]*)|`drover-lab ([^`]*)`")
	values := strings.NewReplacer(" TIME", " 1s", " N ", " 1 ")
	n := 0
	for _, doc := range docs {
		if filepath.Base(doc) == "decisions.md" {
			continue // it says what was
		}
		text, err := os.ReadFile(doc)
		require.NoError(t, err)
		for _, found := range line.FindAllStringSubmatch(string(text), -1) {
			n++
			require.True(t, takes(values.Replace(found[1]+found[2])), "%s: %s", doc, found[0])
		}
	}
	require.Greater(t, n, 20)
}

func TestADroverMustBeBesideIt(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	require.Equal(t, terminal.ExitNoCluster, typeIn(t.Context(), []string{"drill"}, nil, &out, &errs))
	require.Contains(t, errs.String(), "drover-lab: there is no drover beside this program: make build makes both")
}

package redisstore_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisstore"
	"drover/core/service/guard"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the generated parts of docs/redis.md")

const redisDoc = "../../docs/redis.md"

// keyTable is the table of keys in docs/redis.md.
func keyTable() string {
	var b strings.Builder
	b.WriteString("| key | type | what it holds |\n|---|---|---|\n")
	for _, k := range redisstore.Keys() {
		fmt.Fprintf(&b, "| `drover:%s` | %s | %s |\n", k.Pattern, k.Type, tableText(k.Holds))
	}
	return b.String()
}

// scriptTable is the table of scripts.
func scriptTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| script | what it does | refuses | moves | when it runs again |\n|---|---|---|---|---|\n")
	for _, name := range redisstore.ScriptNames() {
		h, _ := header(t, name)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", name, tableText(h[""]), tableText(h["REFUSE"]), tableText(h["MOVES"]), tableText(h["REPEAT"]))
	}
	return b.String()
}

func tableText(s string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(strings.TrimSuffix(strings.TrimPrefix(s, "-"), "."))
}

func TestRedisDocIsCurrent(t *testing.T) {
	t.Parallel()
	coretest.RequireDocument(t, redisDoc, map[string]string{"keys": keyTable(), "scripts": scriptTable(t)}, *update, "go generate ./core/redisstore")
}

// The lines that the document tells readers to paste work, and show something.
func TestRedisDocLinesWork(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("redis-cli"); err != nil {
		coretest.Missing(t, "redis-cli", err)
	}
	b := coretest.Alone(t)
	socket := b.Admin.Options().Addr
	b.URL, b.Namespace = "unix://"+socket, "drover"
	x := newSuite(t, b, false)
	busy(t, x)
	doc, err := os.ReadFile(redisDoc)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, guard.WriteProgram(t.Context(), filepath.Join(dir, "redis-cli"), []byte("#!/bin/sh\nPATH=${PATH#*:}\nexec redis-cli -e -s '"+socket+"' \"$@\"\n")))
	ran := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(doc), -1) {
		for line := range strings.Lines(block[1]) {
			cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "set -e\n"+line)
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s%s", line, out)
			require.NotEmpty(t, strings.TrimSpace(string(out)), line)
			require.NotContains(t, string(out), "(error)", line)
			ran++
		}
	}
	require.Greater(t, ran, 30)
	// The user that the document makes is enough for a cluster.
	opts := b.Options()
	opts.URL = "unix://drover:a-long-secret@" + socket
	s, err := redisstore.Open(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, err = s.Register(t.Context(), registration("testrunner@h3#0", "h3", "m"))
	require.NoError(t, err)
	coretest.RequireSound(t, s)
	require.NoError(t, s.Wait(t.Context(), "testrunner@h3#0", "h3", time.Millisecond))
	require.NoError(t, s.Append(t.Context(), "a-1", "1.1", []core.OutputChunk{{Stream: "end"}}))
	require.Error(t, s.Client().Set(context.Background(), "elsewhere", 1, 0).Err())
}

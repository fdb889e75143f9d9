package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// heavy are packages that allocate more than the rest before main begins, with the most that each may, in bytes.
var heavy = map[string]int{
	"github.com/microcosm-cc/bluemonday/css":   600_000, // expressions for the styles of HTML, which pages never let in
	"github.com/microcosm-cc/bluemonday":       400_000,
	"github.com/gorilla/css/scanner":           300_000, // bluemonday's
	"github.com/yuin/goldmark/extension":       350_000, // how links look in Markdown
	"github.com/yuin/goldmark/util":            200_000, // the names of HTML's characters
	"github.com/elastic/go-seccomp-bpf/arch":   200_000, // the names of system calls
	"github.com/xdg-go/stringprep":             200_000, // MongoDB's passwords
	"github.com/danielgtaylor/huma/v2":         200_000,
	"github.com/minio/minio-go/v7/pkg/s3utils": 350_000, // expressions for the names of buckets
}

// Every command, and each VM of the local provider, pays for what packages do before main. Bytes are the same
// in each run; times are not.
func TestNothingHeavyIsInitialised(t *testing.T) {
	t.Parallel()
	const (
		ours   = 64_000
		theirs = 130_000
		all    = 4 << 20 // the heap at which Go collects garbage for the first time
	)
	path, err := program()
	require.NoError(t, err)
	cmd := exec.Command(path, "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", trace)
	deps, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	its := strings.Fields(string(deps)) // the rest are the tests' own, as is much of the last, which is this package
	its = its[:len(its)-1]
	total, seen := 0, 0
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, `).FindAllStringSubmatch(string(trace), -1) {
		if !slices.Contains(its, m[1]) {
			continue
		}
		bytes, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		most := heavy[m[1]]
		if most == 0 {
			most = theirs
		}
		if strings.HasPrefix(m[1], "drover/") {
			most = ours
			seen++
		}
		assert.LessOrEqual(t, bytes, most, "package %s allocates %d bytes before main begins: let it do so when it is first used", m[1], bytes)
		total += bytes
	}
	require.Greater(t, seen, 10, "the trace names packages of drover")
	assert.LessOrEqual(t, total, all, "all packages together")
}

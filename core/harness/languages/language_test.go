package languages_test

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness/languages"
)

// Each entry is whole, and no code or id of Judge0 means two languages, and no suffix unless a file's lines tell.
func TestTable(t *testing.T) {
	t.Parallel()
	code, suffix, name := regexp.MustCompile(`^[a-z][a-z0-9]*$`), regexp.MustCompile(`^[A-Za-z0-9+]+$`), regexp.MustCompile(`^[A-Za-z0-9]+\.[a-z0-9]+$`)
	codes, suffixes, ids := map[string]bool{}, map[string]bool{}, map[int]bool{}
	for _, l := range languages.All() {
		require.Regexp(t, code, l.Code)
		require.Regexp(t, name, l.Source, l.Code)
		for _, c := range append(l.Also, l.Code) {
			require.False(t, codes[c], c)
			codes[c] = true
		}
		for _, s := range l.Suffixes {
			require.Regexp(t, suffix, s)
			require.False(t, suffixes[s] && l.Lines == "", s)
			suffixes[s] = true
		}
		for _, id := range l.Judge0 {
			require.False(t, ids[id], id)
			ids[id] = true
		}
		require.NotEmpty(t, l.Packages, l.Code)
		require.NotEmpty(t, l.Version, l.Code)
		require.NotEmpty(t, l.Run, l.Code)
		require.Contains(t, l.Hello, "hello", l.Code)
		require.GreaterOrEqual(t, min(l.Time, l.Memory), 1.0, l.Code)
		require.NotContains(t, l.Run, "'", "%s: the script that runs programs has it between these", l.Code)
		require.NotContains(t, l.Single(l.Build, "x")+l.Single(l.Run, ""), "$here", l.Code)
		require.NotRegexp(t, `\$(here|main|class|options|@)`, l.Single(l.Build, "x")+l.Single(l.Run, ""), l.Code)
		if l.Options != "" {
			require.Contains(t, l.Build, " $options", l.Code)
		}
		if len(l.Suffixes) > 0 {
			of, ok := languages.Of([]string{"a/notes.txt", "a/" + l.Source})
			require.True(t, ok)
			require.True(t, of.Code == l.Code || len(l.Suffixes) == 0, "%s is taken for %s", l.Source, of.Code)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	some, err := languages.Choose([]string{"c++", "python3"})
	require.NoError(t, err)
	require.Equal(t, []string{"cpp", "python3"}, languages.Codes(some))
	require.Equal(t, []string{"g++", "python3"}, languages.Packages(some))
	all, err := languages.Choose([]string{"all"})
	require.NoError(t, err)
	require.Len(t, all, len(languages.All()))
	_, err = languages.Choose([]string{"klingon"})
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	require.ErrorContains(t, err, "python3")
	_, ok := languages.Of([]string{"Makefile", "notes.txt"})
	require.False(t, ok)
}

// The script that images are examined with finds the languages of this machine, and says which do not work. Package main
// of drover tests hello in each.
func TestReport(t *testing.T) {
	t.Parallel()
	run := func(needed ...languages.Language) (string, string, error) {
		var out, errs bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "sh", "-c", languages.Report(needed))
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		return out.String(), errs.String(), err
	}
	bash, _ := languages.Find("bash")
	found, errs, err := run(bash)
	require.NoError(t, err, errs)
	all := languages.ParseReport(found)
	require.NotEmpty(t, all)
	for _, is := range all {
		t.Logf("%s %s", is.Name, is.Version)
	}
	bash.Hello = "echo hullo"
	_, errs, err = run(bash)
	require.Error(t, err)
	require.Contains(t, errs, "E: hello in bash does not work here")
}

// What a system says of itself may be anything.
func TestParseReport(t *testing.T) {
	t.Parallel()
	require.Equal(t, []core.ImageLanguage{
		{Code: "go", Name: "Go", Version: "1.19.8"},
		{Code: "erlang", Name: "Erlang", Version: "25"},
		{Code: "kotlin", Name: "Kotlin", Version: "1.3"},
		{Code: "javascript", Name: "JavaScript (Node.js)", Version: "18.20.4"},
	}, languages.ParseReport("go\tgo version go1.19.8 linux/amd64\nerlang\t25\nkotlin\t64-Bit JDK 13: kotlinc-jvm 1.3-SNAPSHOT (JRE 17.0)\n"+
		"javascript\tv18.20.4\ngo\t2.0\n<b>x</b>\t1.0\nc\nc++\t9\nrust\tnone\nlua\t"+strings.Repeat("1", 100)+"\n"))
	require.Empty(t, languages.ParseReport(strings.Repeat("x", 1<<20)))
}

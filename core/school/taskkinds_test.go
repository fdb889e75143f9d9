package school_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/school"
)

var update = flag.Bool("update", false, "write the generated part of docs/tasks.md")

const tasksDoc = "../../docs/tasks.md"

func TestTaskKindsAreDeclaredWhole(t *testing.T) {
	t.Parallel()
	kinds := school.TaskKinds()
	names := kinds.Names()
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(names))), len(names), "a kind is declared once")
	for i := range kinds {
		k := &kinds[i]
		require.NotEmpty(t, k.Title, k.Name)
		require.NotEmpty(t, k.Does, k.Name)
		require.NotRegexp(t, `\.$`, k.Does, "%s: pages and commands end the sentence", k.Name)
		require.True(t, k.Command == "" || k.Right != "" && k.About() != "", "%s: who may ask for it, and of what?", k.Name)
		require.True(t, k.Command != "" || !k.Schedulable || k.About() == "", "%s: a schedule makes what its maker may ask for", k.Name)
		for _, a := range k.Options() {
			require.True(t, a.Label != "" || k.Command == "" && !k.Schedulable, "%s: what does %s say in a form?", k.Name, a.Name)
			require.Equal(t, a.Type == core.ArgTime, strings.HasSuffix(a.Name, "_ns"), "%s: %s", k.Name, a.Name)
		}
	}
}

func TestArgumentsOfTasks(t *testing.T) {
	t.Parallel()
	k := core.TaskKind{Name: "count", Args: []core.TaskArg{
		{Name: "class", Type: core.ArgClass},
		{Name: "assignment", Type: core.ArgAssignment},
		{Name: "user", Type: core.ArgUser},
		{Name: "no_header", Type: core.ArgFlag},
		{Name: "keep_ns", Type: core.ArgTime},
		{Name: "run", Type: core.ArgNumber},
		{Name: "fill", Type: core.ArgText, Most: 3},
	}}
	require.Equal(t, core.ArgAssignment, k.About())
	texts := map[string]string{
		"class": "cs101", "assignment": "hw1", "user": "", "no-header": "true", "keep": "2h", "run": "3", "fill": "", "other": "x",
	}
	raw, err := k.Write(texts)
	require.NoError(t, err)
	require.JSONEq(t, `{"class":"cs101","assignment":"hw1","no_header":true,"keep_ns":7200000000000,"run":3,"fill":""}`, string(raw))
	at, err := k.Read(raw)
	require.NoError(t, err)
	require.Equal(t, "cs101/hw1", at.About())
	at, err = k.Read([]byte(`{"class":"cs101","assignment":"hw1","user":"ann"}`))
	require.NoError(t, err)
	require.Equal(t, core.TaskTarget{Class: "cs101", Assignment: "hw1", User: "ann"}, at)

	for name, text := range map[string]string{"no-header": "maybe", "keep": "long", "run": "3.5"} {
		_, err := k.Write(map[string]string{name: text})
		require.ErrorContains(t, err, name)
		require.True(t, core.Is(err, core.CodeInvalid), err)
	}
	for field, value := range map[string]any{
		"class": 5, "assignment": "", "user": "No Name", "no_header": "true", "keep_ns": -1, "run": "3", "fill": "1234", "other": 1,
	} {
		args := map[string]any{"class": "cs101", "assignment": "hw1"}
		args[field] = value
		raw, err := json.Marshal(args)
		require.NoError(t, err)
		_, err = k.Read(raw)
		require.True(t, core.Is(err, core.CodeInvalid), "%s: %v", field, err)
	}
	_, err = k.Read([]byte(`{"class":"cs101","assignment":"hw1","fill":"a\nb"}`))
	require.True(t, core.Is(err, core.CodeInvalid), err)
	_, err = k.Read(nil)
	require.True(t, core.Is(err, core.CodeInvalid), err)
}

// What asks for the same has the same form, however it is written; what asks for something else has another.
func TestArgumentsHaveOneForm(t *testing.T) {
	t.Parallel()
	k := core.TaskKind{Name: "count", Args: []core.TaskArg{
		{Name: "class", Type: core.ArgClass},
		{Name: "user", Type: core.ArgUser},
		{Name: "latest", Type: core.ArgFlag},
		{Name: "run", Type: core.ArgNumber},
		{Name: "fill", Type: core.ArgText, Default: "0"},
		{Name: "mark", Type: core.ArgText},
		{Name: "late", Type: core.ArgFlag, Default: "true"},
	}}
	for form, all := range map[string][]string{
		`{"class":"cs"}`: {
			`{"class":"cs"}`, ` { "class" : "\u0063s" } `, `{"run":0,"class":"cs"}`, `{"latest":false,"user":"","class":"cs","mark":""}`,
			`{"fill":"0","class":"cs"}`, `{"class":"cs","latest":null,"late":null}`, `{"class":"ee","latest":true,"latest":null,"class":"cs"}`,
		},
		`{"class":"cs","latest":true,"user":"ann"}`: {`{"user":"ann","latest":true,"class":"cs"}`, `{"class":"cs","latest":true,"user":"ann"}`},
		`{"class":"cs","fill":""}`:                  {`{"fill":"","class":"cs"}`},
		`{"class":"cs","late":false}`:               {`{"late":false,"class":"cs"}`},
		`{"class":"cs","run":12}`:                   {`{"run":12,"class":"cs"}`},
	} {
		for _, args := range all {
			got, err := k.Canonical(json.RawMessage(args))
			require.NoError(t, err, args)
			require.Equal(t, form, string(got), args)
		}
	}
	for _, args := range []string{`{`, `{"class":""}`, `{"class":null}`, `{"class":"cs","other":1}`, `{"class":"cs","run":"1"}`, `{"class":"cs","latest":1}`, `null`} {
		_, err := k.Canonical(json.RawMessage(args))
		require.True(t, core.Is(err, core.CodeInvalid), "%s: %v", args, err)
	}
}

// kindsTable is the table of kinds in docs/tasks.md.
func kindsTable() string {
	var b strings.Builder
	b.WriteString("| kind | arguments | what it does | asked for by | schedule | rate |\n|---|---|---|---|---|---|\n")
	kinds := school.TaskKinds()
	for i := range kinds {
		k := &kinds[i]
		var args []string
		for _, a := range k.Args {
			args = append(args, "`"+a.Name+"`")
		}
		command := ""
		if k.Command != "" {
			command = "`drover " + k.Command + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", k.Name, strings.Join(args, " "), k.Does, command, map[bool]string{true: "yes"}[k.Schedulable], rate(k.Rate))
	}
	return b.String()
}

// rate is a rate as the setting task_rates has it.
func rate(r core.TaskRate) string {
	var parts []string
	if r.Every > 0 {
		parts = append(parts, fmt.Sprintf("%d/1s", time.Second/r.Every))
	}
	if r.Burst > 0 {
		parts = append(parts, fmt.Sprintf("burst=%d", r.Burst))
	}
	if r.Most > 0 {
		parts = append(parts, fmt.Sprintf("most=%d", r.Most))
	}
	if len(parts) == 0 {
		return ""
	}
	return "`" + strings.Join(parts, ":") + "`"
}

func TestTasksDocIsCurrent(t *testing.T) {
	t.Parallel()
	coretest.RequireDocument(t, tasksDoc, map[string]string{"kinds": kindsTable()}, *update, "make docs")
}

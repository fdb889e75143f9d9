package metric_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/coretest"
	"drover/core/service/metric"
)

var update = flag.Bool("update", false, "write the table into docs/operations.md")

// The text is what Prometheus' own client wrote for the same.
func TestText(t *testing.T) {
	t.Parallel()
	set := &metric.Set{}
	set.Counter("b_total", "Counts.").Add(2)
	vms := set.Gauge("a", "Measures.", "pool", "state")
	vms.Set(1.5, "p", "a \"b\\\nc\xff")
	vms.Add(-1e7, "o", "")
	set.Gauge("absent", "Nothing yet.", "pool")
	took := set.Histogram("c_seconds", "Takes.", 0.25, 2, 3, "kind")
	for _, seconds := range []float64{0.25, 0.3, 7} {
		took.Observe(seconds, "x")
	}
	set.GaugeFunc("d", "Reads.", func(to metric.Reports) { to(3, "now") }, "when")
	require.Equal(t, `# HELP a Measures.
# TYPE a gauge
a{pool="o",state=""} -1e+07
a{pool="p",state="a \"b\\\nc`+"\uFFFD"+`"} 1.5
# HELP b_total Counts.
# TYPE b_total counter
b_total 2
# HELP c_seconds Takes.
# TYPE c_seconds histogram
c_seconds_bucket{kind="x",le="0.25"} 1
c_seconds_bucket{kind="x",le="0.5"} 2
c_seconds_bucket{kind="x",le="1"} 2
c_seconds_bucket{kind="x",le="+Inf"} 3
c_seconds_sum{kind="x"} 7.55
c_seconds_count{kind="x"} 3
# HELP d Reads.
# TYPE d gauge
d{when="now"} 3
`, string(set.Text()))
	vms.Reset()
	require.NotContains(t, string(set.Text()), "pool=")
	require.Panics(t, func() { set.Gauge("a", "Again.") })
	require.Panics(t, func() { vms.Set(1, "p") })
	(*metric.Set)(nil).Counter("a", "Is not exported.").Add(1)
}

// What is read of the process is there and has plausible values.
func TestProcess(t *testing.T) {
	t.Parallel()
	set := &metric.Set{}
	set.Process()
	all := coretest.Metrics(t, set)
	require.Len(t, all, 7)
	for name, value := range all {
		require.GreaterOrEqual(t, value, 0.0, name)
	}
	for _, name := range []string{"process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds", "process_open_fds", "go_goroutines"} {
		require.Positive(t, all[name], name)
	}
	require.Less(t, all["process_open_fds"], all["process_max_fds"])
}

// Every metric is in the table of docs/operations.md, with its labels. Its name, help and labels are literals where it
// is declared, so that they can be found.
func TestDocsShowAllMetrics(t *testing.T) {
	t.Parallel()
	var rows []string
	for _, folder := range []string{"cmd", "testrunner", "vmfactory", "taskrunner", "overseer"} {
		require.NoError(t, filepath.WalkDir("../../../"+folder, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(text, []byte(`("drover_`)) {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					rows = append(rows, row(call)...)
				}
				return true
			})
			return err
		}))
	}
	slices.Sort(rows)
	coretest.RequireDocument(t, "../../../docs/operations.md", map[string]string{
		"metrics": "\n| metric | kind | what it says |\n|---|---|---|\n" + strings.Join(rows, "") + "\n",
	}, *update, "make docs")
}

// row is the line of the table for a call that declares a metric: a name, a help, and labels at the end.
func row(call *ast.CallExpr) []string {
	var texts []string
	for _, arg := range call.Args {
		if literal, ok := arg.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, _ := strconv.Unquote(literal.Value)
			texts = append(texts, text)
		}
	}
	declares, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(texts) < 2 || !strings.HasPrefix(texts[0], "drover_") {
		return nil
	}
	name := texts[0]
	if labels := texts[2:]; len(labels) > 0 {
		name += "{" + strings.Join(labels, ", ") + "}"
	}
	return []string{fmt.Sprintf("| `%s` | %s | %s |\n", name, strings.ToLower(strings.TrimSuffix(declares.Sel.Name, "Func")), texts[1])}
}

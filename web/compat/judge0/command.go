package judge0

import (
	_ "embed"
	"math"
	"path"
	"strconv"
	"strings"

	"drover/core"
)

// folder is where the script writes its notes, in the folder of the files.
const folder = ".judge0"

// script compiles and runs, and notes the results; see phases.
//
//go:embed run.sh
var script string

// command makes the request's command.
func (s *submission) command(l Language, most Limits) []string {
	run := l.Run
	if words := strings.TrimSpace(shellSigns.Replace(s.Arguments)); words != "" && l.Source != "" {
		run += " " + words
	}
	compile := strings.ReplaceAll(l.Compile, "%s", strings.TrimSpace(shellSigns.Replace(s.Options)))
	data := ""
	if compile != "" {
		data = strconv.FormatInt(int64(s.Memory), 10) // otherwise the VM's limit applies
	}
	merge := ""
	if s.MergeStderr {
		merge = "yes"
	}
	return []string{
		"sh", "-c", script, "judge0", compile, run, strconv.FormatInt(s.Runs, 10), up(s.CPU), up(s.CPU + s.Extra), up(s.Wall),
		strconv.FormatInt(s.Stack, 10), strconv.FormatInt(2*s.FileSize, 10), data, merge, up(most.MaxCPU), up(most.MaxWall),
	}
}

// up rounds up to whole seconds, for tools that accept nothing else: the measured time decides.
func up(s float64) string { return strconv.Itoa(max(1, int(math.Ceil(s)))) }

// collected are the files that the script leaves for the compatible API.
func (s *submission) collected() []string {
	all := []string{path.Join(folder, "note"), path.Join(folder, "compile")}
	for i := int64(1); i <= s.Runs; i++ {
		all = append(all, ofRun("out", i), ofRun("err", i))
	}
	return all
}

func ofRun(what string, n int64) string {
	return path.Join(folder, what+"."+strconv.FormatInt(n, 10))
}

// ours reports whether a request was made by this compatible API.
func ours(s *core.Spec) bool {
	return s.Attachment != nil && len(s.Command) > 3 && s.Command[3] == "judge0"
}

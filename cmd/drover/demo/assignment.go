package demo

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/harness"
	"drover/examples"
)

// Assignment is one example: its pool, its harness, and the expected result of each submission.
type Assignment struct {
	Name  string    `json:"name"`
	Title string    `json:"title"`
	Needs []string  `json:"needs"` // programs of the machine, if VMs of the local provider are to grade it
	Pool  core.Pool `json:"pool"`

	dir    string // on this machine
	expect []expected
}

// expected is the expected result of one submission.
type expected struct {
	Name    string            `json:"name"`
	Verdict harness.Verdict   `json:"verdict"`
	State   core.RequestState `json:"state"`
	Blame   core.Blame        `json:"blame"`
	Score   *[2]float64       `json:"score"`
	About   string            `json:"about"`
	Slow    bool              `json:"slow,omitempty"` // it runs until its limit of time, for many seconds
}

// LoadAssignment unpacks an example that the program carries into dir.
func LoadAssignment(name, dir string) (*Assignment, error) {
	if err := unpackExample(name, dir); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, dir, "the example %s cannot be unpacked into %s", name, dir)
	}
	a := &Assignment{Pool: core.DefaultPool("default"), dir: filepath.Join(dir, name)}
	var sheet struct {
		Submissions []expected `json:"submissions"`
	}
	for file, into := range map[string]any{"assignment.json": a, "expected.json": &sheet} {
		text, err := examples.Files.ReadFile(path.Join(name, file))
		if err != nil {
			return nil, core.Wrap(err, core.CodeInternal, name, "the example %s has no %s", name, file)
		}
		if err := json.Unmarshal(text, into); err != nil {
			return nil, core.Wrap(err, core.CodeInternal, name, "%s of the example %s is not readable", file, name)
		}
	}
	a.expect = sheet.Submissions
	return a, a.Pool.Check()
}

func unpackExample(name, dir string) error {
	return fs.WalkDir(examples.Files, name, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(at))
		if d.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		text, err := examples.Files.ReadFile(at)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o600)
		if path.Base(at) == harness.MainFile {
			mode = 0o700 // embedding loses the executable bits
		}
		return os.WriteFile(to, text, mode)
	})
}

// judge returns how a result differs from the expected one; "" if it does not.
func (e expected) judge(r *core.Result) string {
	switch {
	case harness.VerdictOf(r) != e.Verdict:
		return "expected the verdict " + string(e.Verdict)
	case r.State != e.State:
		return "expected the state " + string(e.State)
	case r.Blame != e.Blame:
		return "expected the blame " + string(e.Blame)
	case e.Score == nil && r.Score != nil:
		return "expected no score"
	case e.Score != nil && (r.Score == nil || *r.Score < e.Score[0] || *r.Score > e.Score[1]):
		return "expected a score of " + terminal.Points(&e.Score[0]) + " to " + terminal.Points(&e.Score[1])
	}
	return ""
}

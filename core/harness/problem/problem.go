package problem

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"drover/core"
	"drover/core/service/pattern"
)

// The formats.
const (
	Legacy = "legacy"
	Format = "2025-09"
)

// Problem is a problem package.
type Problem struct {
	Format      string // Legacy, Format or Polygon
	Title       string // in English, if there is an English one
	Scoring     bool
	Interactive bool
	Passes      int  // most runs of a submission for a test; 0: the problem is not multi-pass
	Answers     bool // submissions are answers, not programs
	Limits      Limits
	Grader      string // computes the points of folders of tests; "" for none
	Validator   string // the output validator: a file or a folder; "" for comparing
	Static      string // the static validator; "" for none
	Groups      []Group
	Languages   []string // of submissions, by the table's names; empty for all

	InputValidators []string // programs: files or folders
	Submissions     []Submission

	Refused []Note // what drover cannot do
	Notes   []Note // what does not concern judging, and does not carry over

	root      *os.Root
	dir       string   // the folder's name
	files     []string // all plain files, sorted
	compare   flags    // the whole package's, by validator_flags
	shown     []shown  // to students
	constants map[string]string
	passes    entry   // validation_passes
	whole     Test    // of 2025-09: what all tests begin with
	scores    entry   // validation, if the validator computes scores
	custom    bool    // the grader is for all folders that do not say otherwise
	nodes     []node  // folders of tests, those below first, if there is a grader
	outOf     float64 // the most points by the grader
	tree      bool    // folders need a grader, if only the default one: their points are more than sums
	draft     bool    // of 2025-09
	worst     bool    // the worst outcome of all tests is a submission's, not the first bad one

	polygon        *polygon // nil for a package of Kattis
	polygonSamples []polygonSample

	planned  bool
	unpacked string // the folder that is removed with it; "" for none
}

// Note is something to say about a place of the package.
type Note struct {
	File string
	Line int // 0 for the whole file
	What string
}

// String returns the note with its place.
func (n Note) String() string {
	if n.Line == 0 {
		return n.File + ": " + n.What
	}
	return fmt.Sprintf("%s, line %d: %s", n.File, n.Line, n.What)
}

// Open reads the package in a folder, or in an archive. It returns an INVALID or LIMIT error for what is no package; what drover cannot
// judge is in Refused.
func Open(dir string) (*Problem, error) {
	if info, err := os.Stat(dir); err == nil && info.Mode().IsRegular() {
		in, err := os.Open(dir)
		if err != nil {
			return nil, core.Wrap(err, core.CodeInvalid, dir, "the package %s cannot be opened", dir)
		}
		defer in.Close() //nolint:errcheck // only read from
		return Read(dir, in)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, dir, "the package %s cannot be opened", dir)
	}
	p := &Problem{root: root, dir: dir}
	if err = p.read(); err != nil {
		return nil, errors.Join(core.Wrap(err, core.CodeOf(err), dir, "the package %s", dir), root.Close())
	}
	return p, nil
}

// Close closes the package's folder.
func (p *Problem) Close() error {
	err := p.root.Close()
	if p.unpacked != "" {
		err = errors.Join(err, os.RemoveAll(p.unpacked))
	}
	return err
}

// Check returns an INVALID error that names everything that drover cannot judge, or nil.
func (p *Problem) Check() error {
	if len(p.Refused) == 0 {
		return nil
	}
	all := make([]string, len(p.Refused))
	for i, n := range p.Refused {
		all[i] = n.String()
	}
	return core.Errorf(core.CodeInvalid, "", "drover cannot judge this package as its authors say:\n  %s", strings.Join(all, "\n  "))
}

func (p *Problem) read() error {
	err := p.list()
	if err == nil && !p.has(File) {
		if p.has(PolygonFile) {
			return p.readPolygon()
		}
		err = core.Errorf(core.CodeInvalid, "", "there is no %s", File)
	}
	if p.Static = "static_validator"; len(p.below(p.Static)) == 0 {
		p.Static = ""
	}
	for _, step := range []func() error{p.settings, p.time, p.data, p.programs, p.showable, p.submissions} {
		if err == nil {
			err = step()
		}
	}
	return err
}

// plainName matches the names of files and folders that belong to a package.
var plainName = pattern.New(`^[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,254}$`)

// list finds all plain files; a link counts as what it names inside the package.
func (p *Problem) list() error {
	err := fs.WalkDir(p.root.FS(), ".", func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case at != "." && at != timeFile && at != "statements/.html" && at != "statements/.pdf" && !plainName().MatchString(d.Name()):
			if d.IsDir() {
				return fs.SkipDir
			}
			if !strings.HasPrefix(d.Name(), ".") {
				p.note(at, 0, "it is ignored: names of files have letters, digits, _, . and - only")
			}
			return nil
		case d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			if info, failed := p.root.Stat(at); failed != nil || !info.Mode().IsRegular() {
				p.refuse(at, 0, "this link names no plain file of the package: put a copy in its place")
				return nil //nolint:nilerr // it is refused
			}
		case !d.Type().IsRegular():
			p.refuse(at, 0, "this is no plain file, folder or link")
			return nil
		}
		if len(p.files) == maxFiles {
			return core.Errorf(core.CodeLimit, "", "it has more than %d files", maxFiles)
		}
		p.files = append(p.files, at)
		return nil
	})
	slices.Sort(p.files)
	return err
}

func (p *Problem) has(name string) bool {
	_, ok := slices.BinarySearch(p.files, name)
	return ok
}

// below are the files of a folder and its folders.
func (p *Problem) below(folder string) []string {
	var all []string
	for _, f := range p.files {
		if strings.HasPrefix(f, folder+"/") {
			all = append(all, f)
		}
	}
	return all
}

// filesOf are the files of a program, which is a file or a folder.
func (p *Problem) filesOf(program string) []string {
	switch {
	case !p.has(program):
		return p.below(program)
	case p.polygon != nil && !strings.HasPrefix(program, "solutions/"):
		return append([]string{program}, p.polygon.headers...)
	}
	return []string{program}
}

// children are the names of a folder's files and folders, sorted.
func (p *Problem) children(folder string) []string {
	var all []string
	for _, f := range p.below(folder) {
		name, _, _ := strings.Cut(strings.TrimPrefix(f, folder+"/"), "/")
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// bytes reads a file of at most so many bytes.
func (p *Problem) bytes(name string, most int64) ([]byte, error) {
	in, err := p.root.Open(name)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, name, "%s cannot be read", name)
	}
	defer in.Close() //nolint:errcheck // only read from
	raw, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return nil, core.Wrap(err, core.CodeInvalid, name, "%s cannot be read", name)
	case int64(len(raw)) > most:
		return nil, core.Errorf(core.CodeLimit, name, "%s has more than %d bytes", name, most)
	}
	return raw, nil
}

func (p *Problem) refuse(file string, line int, format string, args ...any) {
	n := Note{file, line, fmt.Sprintf(format, args...)}
	if len(p.Refused) < maxNotes && !slices.Contains(p.Refused, n) {
		p.Refused = append(p.Refused, n)
	}
}

func (p *Problem) note(file string, line int, format string, args ...any) {
	if len(p.Notes) < maxNotes {
		p.Notes = append(p.Notes, Note{file, line, fmt.Sprintf(format, args...)})
	}
}

// programs finds validators, and refuses programs that nothing here runs.
func (p *Problem) programs() error {
	p.answers()
	if p.Format == Legacy && len(p.below("static_validator")) > 0 {
		p.refuse("static_validator", 0, "the format %s has no static validator", p.Format)
	}
	p.InputValidators = p.programsIn("input_validators", "input_format_validators")
	if p.Format == Format {
		p.InputValidators = append(p.InputValidators, p.programsIn("input_validator")...)
		if len(p.below("output_validator")) > 0 {
			p.Validator = "output_validator"
			if one := p.children(p.Validator); len(one) == 1 && !p.has(p.Validator+"/"+one[0]) {
				p.Validator += "/" + one[0] // as in drafts
			}
		}
	} else if p.Validator != "" {
		switch found := p.programsIn("output_validators"); len(found) {
		case 1:
			p.Validator = found[0]
		case 0:
			p.refuse(File, 0, "validation is custom, and output_validators has no program")
		default:
			p.refuse("output_validators", 0, "there are %d output validators (%s); drover runs one", len(found), strings.Join(found, ", "))
		}
	}
	if p.Passes > 0 && p.Validator == "" {
		p.refuse(File, 0, "a multi-pass problem needs an output validator")
	}
	if p.Interactive && p.Validator == "" {
		p.refuse(File, 0, "an interactive problem needs an output validator")
	}
	return nil
}

// programsIn are the programs in folders: each file, and each folder with its files.
func (p *Problem) programsIn(folders ...string) []string {
	var all []string
	for _, folder := range folders {
		for _, name := range p.children(folder) {
			if ext := strings.ToLower(path.Ext(name)); !strings.HasPrefix(name, ".") && ext != ".md" && ext != ".txt" {
				all = append(all, folder+"/"+name)
			}
		}
	}
	return all
}

package harness

import (
	_ "embed"

	"drover/core/blobs/pack"
	"drover/core/harness/cases"
)

// The files of an autograder of Gradescope that mean something, and the folder of a harness that has them all.
const (
	autograderRun   = "run_autograder"
	autograderSetup = "setup.sh"
	autograderDir   = "source"
)

// autograderMain is the main of the harness that an autograder becomes.
//
//go:embed autograder.sh
var autograderMain []byte

// autograderConfig has the format of its report, and Gradescope's usual time.
const autograderConfig = `{"drover/format": "gradescope", "drover/timeout": 600}`

// withAutograder makes a harness folder of the files of an autograder; others stay as they are.
func withAutograder(files map[string]pack.File) map[string]pack.File {
	run, is := files[autograderRun]
	_, setup := files[autograderSetup]
	_, main := files[MainFile]
	_, stock := files[cases.File]
	_, config := files[ConfigFile]
	if !is || run.Folder || stock || config || main && !setup {
		return files
	}
	run.Run = true
	files[autograderRun] = run
	out := map[string]pack.File{
		MainFile:      {Run: true, Content: autograderMain},
		ConfigFile:    {Content: []byte(autograderConfig)},
		autograderDir: {Folder: true},
	}
	for name, f := range files {
		out[autograderDir+"/"+name] = f
	}
	return out
}

// IsAutograder reports whether the harness is an autograder of Gradescope.
func (p *Package) IsAutograder() bool { return p.Config.Format == FormatGradescope }

package harness

import (
	"encoding/json"
	"unicode/utf8"

	"drover/core"
	"drover/core/harness/cases"
	"drover/core/school"
)

// ProblemFile says of which problem package a folder was made, as JSON of a school.Origin.
const ProblemFile = "drover-problem.json"

const maxProblem = 4 << 10 // bytes of it

// problemOf reads of which problem package a folder was made; nil if of none.
func problemOf(folder *cases.Archive) (*school.Origin, error) {
	size, there := folder.Size(ProblemFile)
	if !there {
		return nil, nil
	}
	raw, err := cases.Content{Path: ProblemFile}.Read(folder, maxProblem)
	if err != nil {
		return nil, err
	}
	var p school.Origin
	if err := json.Unmarshal(raw, &p); err != nil || size > maxProblem || !utf8.Valid(raw) {
		return nil, core.Errorf(core.CodeInvalid, ProblemFile, "%s of the harness does not say of which problem package it was made: remove it, or import the package again", ProblemFile)
	}
	return &p, nil
}

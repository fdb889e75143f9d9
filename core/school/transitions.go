package school

import (
	"context"
	"slices"

	"drover/core"
)

// EntityExperiment is the only entity of the school that has states of its own. A submission shows those of the
// request whose result counts for it; see Standing.
const EntityExperiment core.Entity = "experiment"

// Transitions returns the school's part of the table of legal moves; core.Transitions has the cluster's. By names
// methods of ResultStore.
func Transitions() []core.Transition {
	return []core.Transition{
		move("", ExperimentRunning, "its start"),
		move(ExperimentRunning, ExperimentReady, "its task: all its requests have ended"),
		move(ExperimentReady, ExperimentApplying, "apply: from here on there is no way back"),
		move(ExperimentApplying, ExperimentApplied, "apply: all that is to count counts"),
		move(ExperimentRunning, ExperimentAborted, "abort, or its assignment is deleted"),
		move(ExperimentReady, ExperimentAborted, "abort, or its assignment is deleted"),
	}
}

// MayBecome reports whether the table has a transition from s to the other state.
func (s ExperimentState) MayBecome(to ExperimentState) bool {
	return slices.ContainsFunc(Transitions(), func(t core.Transition) bool { return t.From == string(s) && t.To == string(to) })
}

func move(from, to ExperimentState, why string) core.Transition {
	return core.Transition{Entity: EntityExperiment, From: string(from), To: string(to), By: []string{"PutExperiment"}, Why: why}
}

// CheckMove checks the new state of an experiment against the transition table. The state of a revision never
// changes, so the old state may be read before the Put. Returns CONFLICT. A missing experiment is for Put to refuse.
func CheckMove(ctx context.Context, from Experiments, e Experiment) error {
	var was Experiment
	if e.Revision > 0 {
		var err error
		if was, err = from.GetExperiment(ctx, e.ID); err != nil && !core.Is(err, core.CodeNotFound) {
			return err
		}
	}
	switch {
	case was.Revision != e.Revision || was.State == e.State || was.State.MayBecome(e.State):
		return nil
	case was.State == "":
		return core.Errorf(core.CodeConflict, e.ID, "experiment %s cannot begin as %s: it begins as %s", e.ID, e.State, ExperimentRunning)
	}
	return core.Errorf(core.CodeConflict, e.ID, "experiment %s is %s and cannot become %s", e.ID, was.State, e.State)
}

package core_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"drover/core"
	"drover/core/coretest"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the pictures of the states into docs/architecture.md")

// The pictures in docs/architecture.md are those of the table.
func TestArchitectureShowsTheTransitions(t *testing.T) {
	t.Parallel()
	coretest.RequireDocument(t, "../docs/architecture.md", map[string]string{"states": statePictures()}, *update, "make docs")
}

// table is the whole table: the cluster's part, those of what only the result store has, and the school's.
func table() []core.Transition {
	return slices.Concat(core.Transitions(), core.BatchTransitions(), core.LeaseTransitions(), core.InstanceTransitions(), school.Transitions())
}

func entities() []core.Entity {
	return append(
		core.Entities(), core.EntityBatch, core.EntityLease, core.EntityReservation, core.EntityAllocation, core.EntityLeaseEvent, core.EntityInstance,
		school.EntityExperiment,
	)
}

func statePictures() string {
	var b strings.Builder
	for _, entity := range entities() {
		fmt.Fprintf(&b, "\n### %s\n\n```mermaid\nstateDiagram-v2\n", entity)
		for _, tr := range table() {
			if tr.Entity == entity {
				source := tr.From
				if source == "" {
					source = "[*]"
				}
				fmt.Fprintf(&b, "  %s --> %s: %s\n", source, tr.To, strings.Join(tr.By, ", "))
			}
		}
		b.WriteString("```\n")
	}
	b.WriteString("\n")
	return b.String()
}

// last says which states of an entity nothing leaves.
var last = map[core.Entity]func(state string) bool{
	core.EntityRequest:      func(s string) bool { return core.RequestState(s).Terminal() },
	core.EntityVM:           func(s string) bool { return core.VMState(s) == core.VMGone || core.VMState(s) == core.VMLost },
	core.EntityHost:         func(string) bool { return false },
	core.EntityTask:         func(s string) bool { return core.TaskState(s).Terminal() },
	core.EntityEvacuation:   func(s string) bool { return s == string(core.EvacuationFinished) || s == string(core.EvacuationFailed) },
	core.EntityBatch:        func(s string) bool { return core.BatchState(s) == core.BatchCancelled },
	core.EntityLease:        func(s string) bool { return core.LeaseState(s).Deletable() && s != string(core.LeasePending) },
	core.EntityReservation:  func(s string) bool { return s == string(core.ReservationDeleted) || s == string(core.ReservationError) },
	core.EntityAllocation:   func(s string) bool { return s != "" && s != string(core.AllocationHeld) },
	core.EntityLeaseEvent:   func(s string) bool { return s == string(core.EventDone) || s == string(core.EventError) },
	core.EntityInstance:     func(s string) bool { return s == string(core.InstanceTerminated) },
	school.EntityExperiment: func(s string) bool { return school.ExperimentState(s).Decided() },
}

func TestTransitionsLeaveNoTerminalState(t *testing.T) {
	t.Parallel()
	for _, tr := range table() {
		require.False(t, last[tr.Entity](tr.From), "%s %s → %s leaves a terminal state", tr.Entity, tr.From, tr.To)
		require.NotEmpty(t, tr.By, "%s %s → %s is made by nobody", tr.Entity, tr.From, tr.To)
		require.NotEmpty(t, tr.Why)
	}
}

// stateTypes are the types of states.
var stateTypes = map[string]core.Entity{
	"RequestState": core.EntityRequest, "VMState": core.EntityVM, "HostState": core.EntityHost,
	"TaskState": core.EntityTask, "EvacuationState": core.EntityEvacuation, "BatchState": core.EntityBatch,
	"LeaseState": core.EntityLease, "ReservationState": core.EntityReservation, "AllocationState": core.EntityAllocation,
	"LeaseEventState": core.EntityLeaseEvent, "InstanceState": core.EntityInstance, "ExperimentState": school.EntityExperiment,
}

// states reads the states of all entities from the constants of the package.
func states(t *testing.T) map[core.Entity][]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	of, err := filepath.Glob("school/*.go")
	require.NoError(t, err)
	out := make(map[core.Entity][]string)
	for _, name := range append(files, of...) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, is := n.(*ast.ValueSpec)
			if !is {
				return true
			}
			if of, is := spec.Type.(*ast.Ident); is && stateTypes[of.Name] != "" {
				for _, value := range spec.Values {
					text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
					require.NoError(t, err)
					out[stateTypes[of.Name]] = append(out[stateTypes[of.Name]], text)
				}
			}
			return true
		})
	}
	return out
}

// Each state is reached, from the first appearance on, and left unless it is a last one.
func TestEachStateIsReachedAndLeft(t *testing.T) {
	t.Parallel()
	all := states(t)
	require.Len(t, all, len(entities()))
	for entity, states := range all {
		reached, left := map[string]bool{"": true}, make(map[string]bool)
		for range states {
			for _, tr := range table() {
				if tr.Entity == entity && reached[tr.From] {
					reached[tr.To], left[tr.From] = true, true
				}
			}
		}
		delete(reached, "")
		require.ElementsMatch(t, states, slices.Collect(maps.Keys(reached)), entity)
		for _, s := range states {
			require.Equal(t, !last[entity](s), left[s], "%s %s", entity, s)
		}
	}
}

package taskrunner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/school"
)

func TestEveryDeclaredKindIsDone(t *testing.T) {
	t.Parallel()
	var done []string
	for _, k := range builtIn(Config{}, Deps{}, nil) {
		done = append(done, k.Name)
	}
	require.ElementsMatch(t, school.TaskKinds().Names(), done, "kinds are declared in core/school/taskkinds.go and core/taskkinds.go, and done by what builtIn lists")
}

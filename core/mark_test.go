package core_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"drover/core"
)

func TestMarks(t *testing.T) {
	t.Parallel()
	all := []core.Mark{
		{Outcome: core.ResultFull},
		{Outcome: core.ResultPartial, Hidden: true},
		{Outcome: core.ResultFailed, Hidden: true},
		{Outcome: core.ResultCancelled},
		{Outcome: core.ResultWaiting},
	}
	assert.Equal(t, "fPXs.", string(core.WriteMarks(all)))
	assert.Equal(t, all, core.ReadMarks([]byte("fPXs.")))
	for _, m := range core.ReadMarks([]byte("\x00?Zé<")) {
		assert.Equal(t, core.Mark{Outcome: core.ResultWaiting}, m, "what stands for nothing has not ended")
	}
	many := make([]core.Mark, core.MaxMarks+1)
	assert.Len(t, core.WriteMarks(many), core.MaxMarks)
	assert.Len(t, core.ReadMarks(make([]byte, core.MaxMarks+1)), core.MaxMarks)
}

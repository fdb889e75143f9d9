package core_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
)

func TestPartIsAnArray(t *testing.T) {
	t.Parallel()
	part := core.Part{Name: "a", Score: 0.5, MaxScore: -1}
	raw, err := json.Marshal(part)
	require.NoError(t, err)
	assert.JSONEq(t, `["a",0.5,-1]`, string(raw))
	var back core.Part
	require.NoError(t, json.Unmarshal(raw, &back))
	assert.Equal(t, part, back)
	for _, bad := range []string{`["a",1]`, `["a",1,2,3]`, `{"Name":"a"}`, `[1,1,1]`, `["a","1",1]`, `7`} {
		assert.Error(t, json.Unmarshal([]byte(bad), &back), bad)
	}
}

package harness_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness"
)

func TestParseConfig(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		raw     string
		timeout time.Duration
		final   string // actions of a final submission
		says    string // of the refusal
	}{
		"Nothing set":          {raw: `{}`, final: `[]`},
		"Everything set":       {raw: `{"drover/timeout":2.5,"drover/actions":{"public":["a"],"final":["b",{"c":1}]},"drover/environment":{"x":1}}`, timeout: 2500 * time.Millisecond, final: `["a","b",{"c":1}]`},
		"Older names":          {raw: `{"galah/timeout":30,"galah/actions":{"final":["b"]},"galah/environment":{}}`, timeout: 30 * time.Second, final: `["b"]`},
		"Both names":           {raw: `{"galah/timeout":30,"drover/timeout":5}`, timeout: 5 * time.Second, final: `[]`},
		"Foreign keys":         {raw: `{"colour":"blue"}`, final: `[]`},
		"Not JSON":             {raw: `timeout: 5`, says: "is not JSON"},
		"Array":                {raw: `[]`, says: "not a JSON object"},
		"Time-out zero":        {raw: `{"drover/timeout":0}`, says: "above 0"},
		"Time-out negative":    {raw: `{"drover/timeout":-1}`, says: "above 0"},
		"Time-out vanishing":   {raw: `{"drover/timeout":1e-30}`, says: "above 0"},
		"Time-out of a year":   {raw: `{"drover/timeout":31536000}`, says: "at most 86400"},
		"Time-out huge":        {raw: `{"drover/timeout":1e300}`, says: "out of range"},
		"Time-out a text":      {raw: `{"drover/timeout":"5s"}`, says: "not a number"},
		"Actions a list":       {raw: `{"drover/actions":["a"]}`, says: "not a JSON object"},
		"Public no list":       {raw: `{"drover/actions":{"public":"a"}}`, says: "not an array"},
		"Environment a string": {raw: `{"drover/environment":"linux"}`, says: "not a JSON object"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := harness.ParseConfig([]byte(test.raw))
			if test.says != "" {
				require.Error(t, err)
				assert.Equal(t, core.CodeInvalid, core.CodeOf(err))
				assert.Contains(t, err.Error(), "the harness's configuration ")
				assert.Contains(t, err.Error(), test.says)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.timeout, config.Timeout)
			actions, err := json.Marshal(config.Actions(harness.TestFinal))
			require.NoError(t, err)
			assert.JSONEq(t, test.final, string(actions))
		})
	}
}

func TestParseInput_Refuses(t *testing.T) {
	t.Parallel()
	for raw, says := range map[string]string{
		`[]`:                                   "not a JSON object",
		`{"raw_harness":1}`:                    `"raw_harness" that is not a JSON object`,
		`{"raw_submission":[]}`:                `"raw_submission" that is not`,
		`{"raw_assignment":""}`:                `"raw_assignment" that is not`,
		`{"actions":{}}`:                       "not an array",
		`{"uid":1000}`:                         `unknown key "uid"`,
		`{"raw_submission":{"test_type":3}}`:   "not a string",
		`{"raw_submission":{"test_type":"?"}}`: "public or final",
		`{"raw_harness":{"config":{"drover/timeout":-1}}}`: "above 0",
	} {
		_, err := harness.ParseInput(json.RawMessage(raw))
		require.Error(t, err, raw)
		assert.Equal(t, core.CodeInvalid, core.CodeOf(err), raw)
		assert.Contains(t, err.Error(), says, raw)
	}
}

var at = harness.Places{Harness: "/h", Submission: "/s"}

// A spec that says nothing of its own still gets every field of the contract.
func TestStdin_FillsTheContract(t *testing.T) {
	t.Parallel()
	spec := core.Spec{
		ID: "01abc", Generation: 1, Submitter: "ann", Assignment: "hw1", Submitted: 1_700_000_000_123,
		Harness: &core.File{Path: "harness.tar", Digest: "sha256:aa"},
	}
	in, err := harness.ParseInput(nil)
	require.NoError(t, err)
	got, err := in.Stdin(&spec, at, map[string]any{"drover/attempt": 2})
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"raw_harness": {"id": "sha256:aa", "config": {}, "harness_path": "/h"},
		"raw_submission": {
			"id": "01abc", "assignment": "hw1", "user": "ann", "timestamp": "2023-11-14T22:13:20.123Z", "most_recent": null,
			"test_type": "public", "test_results": null, "test_request_timestamp": "2023-11-14T22:13:20.123Z"
		},
		"raw_assignment": {"name": "hw1", "due": null, "due_cutoff": null, "hide_until": null, "test_harness": "sha256:aa"},
		"testables_directory": "/s", "harness_directory": "/h", "actions": [], "drover/attempt": 2
	}`, string(got))
}

// What the submitter says wins over what is filled in, but not over the platform.
func TestStdin_KeepsWhatWasGiven(t *testing.T) {
	t.Parallel()
	spec := core.Spec{ID: "01abc", Submitter: "ann", Harness: &core.File{Digest: "sha256:aa"}}
	in, err := harness.ParseInput(json.RawMessage(`{
		"raw_harness": {"id": "h7", "config": {"drover/actions": {"public": ["p"], "final": ["f"]}, "colour": "blue"}, "more": 1},
		"raw_submission": {"user": "ann@example.org", "test_type": "final", "most_recent": null, "extra": null},
		"raw_assignment": {"due": "2026-01-01T00:00:00Z"},
		"vz/uid": 1000, "drover/attempt": 99
	}`))
	require.NoError(t, err)
	raw, err := in.Stdin(&spec, at, map[string]any{"drover/attempt": 1})
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(raw, &got))
	assert.Equal(t, []any{"p", "f"}, got["actions"])
	assert.InEpsilon(t, 1000, got["vz/uid"], 0)
	assert.InEpsilon(t, 1, got["drover/attempt"], 0)
	harnessPart, _ := got["raw_harness"].(map[string]any)
	assert.Equal(t, "h7", harnessPart["id"])
	assert.InEpsilon(t, 1, harnessPart["more"], 0)
	assert.Equal(t, "blue", harnessPart["config"].(map[string]any)["colour"])
	submission, _ := got["raw_submission"].(map[string]any)
	assert.Equal(t, "ann@example.org", submission["user"])
	assert.Equal(t, "final", submission["test_type"])
	assert.Contains(t, submission, "extra")
	assignment, _ := got["raw_assignment"].(map[string]any)
	assert.Equal(t, "2026-01-01T00:00:00Z", assignment["due"])
}

func TestStdin_GivenActionsWin(t *testing.T) {
	t.Parallel()
	in, err := harness.ParseInput(json.RawMessage(`{"raw_harness":{"config":{"drover/actions":{"public":["p"]}}},"actions":[]}`))
	require.NoError(t, err)
	raw, err := in.Stdin(&core.Spec{}, at, nil)
	require.NoError(t, err)
	assert.Contains(t, string(raw), `"actions":[]`)
}

func TestNewInput_RoundTrip(t *testing.T) {
	t.Parallel()
	config, err := harness.ParseConfig([]byte(`{"drover/timeout":7,"drover/actions":{"final":["f"]}}`))
	require.NoError(t, err)
	in, err := harness.ParseInput(harness.NewInput(config, harness.TestFinal))
	require.NoError(t, err)
	assert.Equal(t, 7*time.Second, in.Config.Timeout)
	assert.Equal(t, harness.TestFinal, in.TestType)
	in, err = harness.ParseInput(harness.NewInput(harness.Config{}, harness.TestPublic))
	require.NoError(t, err)
	assert.Zero(t, in.Config.Timeout)
}

func FuzzParseInput(f *testing.F) {
	f.Add([]byte(`{"raw_harness":{"config":{"drover/timeout":1}},"raw_submission":{"test_type":"final"},"a/b":[1]}`))
	f.Add([]byte(`{"raw_harness":null,"actions":[null,{}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		in, err := harness.ParseInput(raw)
		if err != nil {
			require.Equal(t, core.CodeInvalid, core.CodeOf(err))
			return
		}
		out, err := in.Stdin(&core.Spec{ID: "x"}, at, nil)
		require.NoError(t, err)
		require.True(t, json.Valid(out))
	})
}

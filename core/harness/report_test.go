package harness_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness"
)

func num(x float64) *float64 { return &x }

func TestParseReport_Accepts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", harness.MaxMessage)
	tests := map[string]struct {
		out  string
		want harness.Report
	}{
		"Empty object":     {`{}`, harness.Report{}},
		"White space":      {" \n\t{} \r\n", harness.Report{}},
		"Nulls":            {`{"score":null,"max_score":null,"failed":null,"tests":null}`, harness.Report{}},
		"Unknown keys":     {`{"id":"x","Score":9,"deep":{"a":[1,{"b":null}]}}`, harness.Report{}},
		"Scores":           {`{"score":7.5,"max_score":1e1}`, harness.Report{Score: num(7.5), MaxScore: num(10)}},
		"Negative scores":  {`{"score":-3,"max_score":-0.5}`, harness.Report{Score: num(-3), MaxScore: num(-0.5)}},
		"Vanishing number": {`{"score":1e-999}`, harness.Report{Score: num(0)}},
		"Failed":           {`{"failed":true}`, harness.Report{Failed: true}},
		"Not failed":       {`{"failed":false,"tests":[]}`, harness.Report{}},
		"Tests": {
			`{"tests":[{"name":"sums","score":1,"max_score":2,"message":"**no**\nline","parts":[["a",1,1],["b",0,1]],"x":1}]}`,
			harness.Report{Tests: []core.Test{{
				Name: "sums", Score: 1, MaxScore: 2, Message: "**no**\nline", Parts: []core.Part{{Name: "a", Score: 1, MaxScore: 1}, {Name: "b", MaxScore: 1}},
			}}},
		},
		"Same name twice": {
			`{"tests":[{"name":"a","score":1,"max_score":1},{"name":"a","score":0,"max_score":1,"parts":[["p",0,0],["p",0,0]]}]}`,
			harness.Report{Tests: []core.Test{
				{Name: "a", Score: 1, MaxScore: 1},
				{Name: "a", MaxScore: 1, Parts: []core.Part{{Name: "p"}, {Name: "p"}}},
			}},
		},
		"Not UTF-8": {
			"{\"tests\":[{\"name\":\"a\xffb\",\"score\":1,\"max_score\":1}]}",
			harness.Report{Tests: []core.Test{{Name: "a\ufffdb", Score: 1, MaxScore: 1}}},
		},
		"Control characters": {
			`{"tests":[{"name":"\u001b[2Jx\u0000","score":1,"max_score":1,"message":"a\r\nb\rc\u009b","parts":[["\u0007",1,1]]}]}`,
			harness.Report{Tests: []core.Test{{
				Name: "\ufffd[2Jx\ufffd", Score: 1, MaxScore: 1, Message: "a\nb\ufffdc\ufffd", Parts: []core.Part{{Name: "\ufffd", Score: 1, MaxScore: 1}},
			}}},
		},
		"Lone surrogate": {
			`{"tests":[{"name":"\ud800","score":1,"max_score":1}]}`,
			harness.Report{Tests: []core.Test{{Name: "\ufffd", Score: 1, MaxScore: 1}}},
		},
		"Long message": {
			`{"tests":[{"name":"a","score":1,"max_score":1,"message":"` + long + `"}]}`,
			harness.Report{Tests: []core.Test{{Name: "a", Score: 1, MaxScore: 1, Message: harness.TooLarge}}},
		},
		"Longest message": {
			`{"tests":[{"name":"a","score":1,"max_score":1,"message":"` + long[2:] + `"}]}`,
			harness.Report{Tests: []core.Test{{Name: "a", Score: 1, MaxScore: 1, Message: long[2:]}}},
		},
		"Long name": {
			`{"tests":[{"name":"` + strings.Repeat("é", 300) + `","score":1,"max_score":1}]}`,
			harness.Report{Tests: []core.Test{{Name: strings.Repeat("é", harness.MaxName) + "…", Score: 1, MaxScore: 1}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := harness.ParseReport([]byte(test.out))
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestParseReport_Refuses(t *testing.T) {
	t.Parallel()
	test := func(members string) string {
		return `{"tests":[{"name":"a","score":1,"max_score":1},{` + members + `}]}`
	}
	tests := map[string]struct{ out, says string }{
		"Nothing":                {"", "is empty"},
		"White space":            {" \n", "is empty"},
		"Text":                   {"all tests passed", "is not JSON"},
		"Half an object":         {`{"score":1`, "ends too early"},
		"Half a value":           {`{"score":`, "ends too early"},
		"Array":                  {`[]`, "is not a JSON object"},
		"Number":                 {`7`, "is not a JSON object"},
		"Null":                   {`null`, "is not a JSON object"},
		"Trailing garbage":       {`{} done`, "something after"},
		"Two objects":            {`{}{}`, "something after"},
		"Noise before":           {`+ sh -x {}`, "is not JSON"},
		"Byte order mark":        {"\ufeff{}", "is not JSON"},
		"NaN":                    {`{"score":NaN}`, "is not JSON"},
		"Infinity":               {`{"score":Infinity}`, "is not JSON"},
		"Minus infinity":         {`{"score":-Infinity}`, "is not JSON"},
		"Too large for a float":  {`{"score":1e999}`, "out of range"},
		"Huge":                   {`{"max_score":1e13}`, "out of range"},
		"Huge and negative":      {`{"score":-1e300}`, "out of range"},
		"Score is text":          {`{"score":"10"}`, `"score" that is not a number`},
		"Score is a truth":       {`{"score":true}`, "is not a number"},
		"Failed is a word":       {`{"failed":"no"}`, "neither true nor false"},
		"Key twice":              {`{"score":1,"score":10}`, `"score" twice`},
		"Key twice in a test":    {test(`"name":"b","score":1,"score":2,"max_score":2`), "wrong in test 2"},
		"Tests are an object":    {`{"tests":{}}`, "not an array"},
		"Test is text":           {`{"tests":["a"]}`, "test 1: it is not a JSON object"},
		"Test without name":      {test(`"score":1,"max_score":1`), "has no name"},
		"Name is a number":       {test(`"name":1,"score":1,"max_score":1`), "not a string"},
		"Test without score":     {test(`"name":"b","max_score":1`), `test 2: it has no "score"`},
		"Test without max":       {test(`"name":"b","score":1`), `has no "max_score"`},
		"Score null":             {test(`"name":"b","score":null,"max_score":1`), `has no "score"`},
		"Message is a list":      {test(`"name":"b","score":1,"max_score":1,"message":[]`), "not a string"},
		"Part too short":         {test(`"name":"b","score":1,"max_score":1,"parts":[["p",1,1],["q",1]]`), "part 2 that is not an array"},
		"Part too long":          {test(`"name":"b","score":1,"max_score":1,"parts":[["p",1,1,1]]`), "not an array [name"},
		"Part is an object":      {test(`"name":"b","score":1,"max_score":1,"parts":[{}]`), "not an array [name"},
		"Part is null":           {test(`"name":"b","score":1,"max_score":1,"parts":[null]`), "not an array [name"},
		"Part's name is a null":  {test(`"name":"b","score":1,"max_score":1,"parts":[[null,1,1]]`), "name that is not a string"},
		"Part's score is null":   {test(`"name":"b","score":1,"max_score":1,"parts":[["p",null,1]]`), "score that is not a number"},
		"Part's max is too much": {test(`"name":"b","score":1,"max_score":1,"parts":[["p",1,1e40]]`), "max_score that is out of range"},
		"Too many tests":         {`{"tests":[` + strings.Repeat(`{},`, harness.MaxItems) + `{}]}`, "more than 1000"},
		"Too many parts":         {test(`"name":"b","score":1,"max_score":1,"parts":[` + strings.Repeat(`[],`, harness.MaxItems) + `[]]`), "more than 1000"},
		"Raw control character":  {"{\"tests\":[{\"name\":\"a\x01\",\"score\":1,\"max_score\":1}]}", "is not JSON"},
		"Deep array":             {strings.Repeat("[", 200_000), "is not a JSON object"},
		"Deep objects":           {strings.Repeat(`{"a":`, 200_000), "is not JSON"},
		"Deep unknown value":     {`{"x":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + `}`, "depth"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := harness.ParseReport([]byte(test.out))
			require.Error(t, err)
			assert.Equal(t, core.CodeInvalid, core.CodeOf(err))
			assert.Contains(t, err.Error(), "the harness's output ")
			assert.Contains(t, err.Error(), test.says)
			assert.Less(t, len(err.Error()), 300)
		})
	}
}

// Whatever a harness prints, the answer is an INVALID error or a report within
// its bounds that survives the way into the result store and back.
func FuzzParseReport(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"score":1,"max_score":2,"failed":false,"tests":[{"name":"a","score":1,"max_score":2,"message":"m","parts":[["p",1,2]]}]}`,
		`{"score":1e999}`, `{"tests":[{"name":"\ud800","score":-0,"max_score":1}]}`, `{"a":[[[[]]]]}`, "{\"x\":\"\xff\"}", `{}{}`, `{"score":1,"score":2}`,
		`{"tests":[null]}`, `{"tests":[{"name":"","score":1,"max_score":1,"parts":[[],[1,2,3],["",0,0]]}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		r, err := harness.ParseReport(out)
		if err != nil {
			require.Equal(t, core.CodeInvalid, core.CodeOf(err))
			require.Less(t, len(err.Error()), 500)
			return
		}
		require.LessOrEqual(t, len(r.Tests), harness.MaxItems)
		for _, test := range r.Tests {
			require.LessOrEqual(t, utf8.RuneCountInString(test.Name), harness.MaxName+1)
			require.LessOrEqual(t, utf8.RuneCountInString(test.Message), harness.MaxMessage)
			require.LessOrEqual(t, len(test.Parts), harness.MaxItems)
		}
		raw, err := json.Marshal(core.Result{Score: r.Score, MaxScore: r.MaxScore, Tests: r.Tests})
		require.NoError(t, err)
		var back core.Result
		require.NoError(t, json.Unmarshal(raw, &back))
		require.Equal(t, r.Tests, back.Tests)
		require.NotPanics(t, func() { harness.VerdictOf(&core.Result{State: core.RequestCompleted, Score: r.Score, Tests: r.Tests}) })
	})
}

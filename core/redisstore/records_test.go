package redisstore_test

import (
	"fmt"
	"strings"
	"testing"

	"drover/core/coretest"
	"drover/core/redisstore"

	"github.com/stretchr/testify/require"
)

// What scripts write, scripts and Go read alike: every record there is, and nothing else for one.
func TestRecords(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	for _, r := range redisstore.Records() {
		var set, want []string
		names := strings.Fields(r.Parts)
		for i, part := range names {
			name, number := strings.CutSuffix(part, "#")
			value, says := "'"+name+" x'", name+" x"
			switch {
			case name == "room":
				value, says = "nil", strings.Repeat(" ", 50)
			case number:
				value = fmt.Sprint(int64(1790000000000) + int64(i))
				says = value
			case i == len(names)-1:
				value, says = "'a|b|'", "a|b|"
			}
			set, want = append(set, name+"="+value), append(want, says)
		}
		lua := func(code string, args ...any) any {
			out, err := b.Admin.Eval(t.Context(), redisstore.LuaRecord(r.Name)+" "+code, nil, args...).Result()
			require.NoError(t, err, r.Name)
			return out
		}
		text, is := lua("return W_" + r.Name + "({" + strings.Join(set, ",") + "})").(string)
		require.True(t, is, r.Name)
		require.Equal(t, strings.Join(want, "|"), text, r.Name)
		again := lua("local its = R_"+r.Name+"(ARGV[1]) return W_"+r.Name+"(its)", text)
		require.Equal(t, text, again, r.Name)
		its := redisstore.ReadRecord(r.Name, text)
		for i, part := range names {
			require.Equal(t, want[i], its[strings.TrimSuffix(part, "#")], r.Name)
		}
		for _, none := range []string{"", want[0], strings.Replace(text, "1790000000", "x", 1)} {
			if none == text {
				continue // it has no number
			}
			require.Nil(t, redisstore.ReadRecord(r.Name, none), "%s: %q", r.Name, none)
			require.EqualValues(t, 1, lua("return R_"+r.Name+"(ARGV[1]) == nil and 1 or 0", none), "%s: %q", r.Name, none)
		}
		require.EqualValues(t, 1, lua("return R_"+r.Name+"(false) == nil and 1 or 0"), "what Redis does not have is none")
	}
}

package portable_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/classes/portable"
)

func TestCells(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "ann": "ann", "ann@example.org": "ann@example.org", "0": "0", "-5": "-5", "-0.25": "-0.25", "12.50": "12.50",
		"=1+1": "'=1+1", "+5": "'+5", "-": "'-", "-5-5": "'-5-5", "-5\n": "'-5 ", "@SUM(A1)": "'@SUM(A1)", "\t=1": "' =1", "\r=1": "' =1", "\n=1": "' =1",
		"  =1": "'  =1", `"=1`: `'"=1`, "'=1": "''=1", "''=1": "'''=1", "' ann": "' ann", "”=1": "'”=1",
		"＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠x": "'＠x", "﹦1": "'﹦1", "−1": "'−1", "\u00a0=1": "'\u00a0=1", "\ufeff=1": "'\ufeff=1", "\u200b=1": "'\u200b=1",
		"a=1": "a=1", "a\tb": "a b", "a\xffb": "a\ufffdb", "1e5": "1e5", "-1e5": "'-1e5", "0x-": "0x-", "a,b": "a,b",
	} {
		require.Equal(t, want, portable.Cell(text), "%q", text)
	}
}

package core_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drover/core"
)

func TestRequirements(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"zone": "a", "cores": "16", "old": "08", "model": "x9"}
	for text, want := range map[string]string{
		"":                                 "",
		" , ,":                             "",
		"zone=a,cores>=16":                 "",
		"zone==a, cores <= 16":             "",
		"zone==b":                          "zone=b",
		"zone!=a":                          "zone!=a",
		"gpu!=no":                          "", // it has none
		"gpu=yes":                          "gpu=yes",
		"gpu>=0":                           "gpu>=0",
		"cores>9":                          "", // as numbers
		"cores<9":                          "cores<9",
		"cores>16":                         "cores>16",
		"old=8,old==008,old<10":            "",
		"model>x10":                        "", // as text
		"cores<x":                          "", // as text
		"cores<" + strings.Repeat("9", 40): "", // larger than any number of a processor
		"zone=a,gpu=yes,zone=b":            "gpu=yes",
	} {
		all, err := core.ParseRequirements(text)
		require.NoError(t, err, text)
		require.Equal(t, want, all.Lacks(labels), text)
	}
	for _, bad := range []string{"zone", "zone=", "=a", "zone=A", "zone!a", "zone=>5", "zone<>5", "a b=c", "zone=a;b=c"} {
		_, err := core.ParseRequirements(bad)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), bad)
	}
	_, err := core.ParseRequirements(strings.Repeat("a=b,", core.MaxRequirements))
	require.NoError(t, err)
	_, err = core.ParseRequirements(strings.Repeat("a=b,", core.MaxRequirements+1))
	require.Equal(t, core.CodeLimit, core.CodeOf(err))
}

// Of two numbers exactly those conditions are met that arithmetic says, and what is read is written the same again.
func TestRequirementsOfNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		has, asked := rapid.Uint32Range(0, 200).Draw(t, "has"), rapid.Uint32Range(0, 200).Draw(t, "asked")
		op := rapid.SampledFrom([]string{"=", "!=", ">=", "<=", ">", "<"}).Draw(t, "op")
		text := fmt.Sprintf("n%s%d", op, asked)
		all, err := core.ParseRequirements(text)
		require.NoError(t, err)
		want := map[string]bool{
			"=": has == asked, "!=": has != asked, ">=": has >= asked, "<=": has <= asked, ">": has > asked, "<": has < asked,
		}[op]
		require.Equal(t, want, all.Lacks(map[string]string{"n": strconv.Itoa(int(has))}) == "", "%d: %s", has, text)
		require.Equal(t, text, all[0].String())
	})
}

package portable

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNamesAreSafeToUnpack(t *testing.T) {
	t.Parallel()
	for _, tc := range [][][2]string{
		{{"a/b.c", "a/b.c"}, {"a/B.c", "a/B-2.c"}, {"A/b.c", "A/b-3.c"}, {"a/b.c/d", "a/b-4.c/d"}, {"x", "x"}, {"X/y", "X-2/y"}, {"X/z", "X-2/z"}},
		{{"d/e", "d/e"}, {"D", "D-2"}},
		{{"../../etc/passwd", "_/_/etc/passwd"}},
		{{"/etc/passwd", "_/etc/passwd"}, {"..", "_-2"}, {"", "_-3"}, {"a//b", "a/_/b"}, {".", "_-4"}},
		{{`..\..\x`, ".._.._x"}, {`C:\x`, "C__x"}},
		{{"a\x00b\nc", "a_b_c"}, {"bad\xffutf", "bad_utf"}, {"\u202egnp.exe", "_gnp.exe"}},
		{{"e\u0301.txt", "\u00e9.txt"}, {"\u00e9.txt", "\u00e9-2.txt"}, {"stra\u00dfe", "stra\u00dfe"}, {"STRASSE", "STRASSE-2"}},
		{{"CON", "_CON"}, {"nul.txt", "_nul.txt"}, {"com1", "_com1"}, {"com", "com"}, {"comX", "comX"}, {"LPT9.tar.gz", "_LPT9.tar.gz"}},
		{{"end. ", "end_"}, {".bashrc", ".bashrc"}, {".BASHRC", "-2.BASHRC"}},
		{{strings.Repeat("é", 200), strings.Repeat("é", 127)}, {strings.Repeat("é", 200), strings.Repeat("é", 122) + "-2"}},
	} {
		n := NewNames()
		for _, pair := range tc {
			require.Equal(t, pair[1], n.Safe(pair[0]))
		}
	}
}

// Whatever paths a submission has, the names are different for systems that do not
// tell upper from lower case, and none leads out of its folder.
func TestNamesAreSafeWhateverTheyAre(t *testing.T) {
	t.Parallel()
	part := rapid.OneOf(rapid.SampledFrom([]string{"a", "A", "b", "..", "..a", ".", "", "con", "a-2", "ä", "A\u0308", `\`, "x ", "x."}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		n := NewNames()
		files, folders := map[string]bool{}, map[string]bool{}
		for range rapid.IntRange(1, 20).Draw(t, "files") {
			name := n.Safe(strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "path"), "/"))
			require.Equal(t, path.Clean(name), name)
			require.NotContains(t, name, `\`)
			require.True(t, filepath.IsLocal(name), name)
			require.False(t, files[fold(name)] || folders[fold(name)], "%q is there twice", name)
			files[fold(name)] = true
			for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
				require.False(t, files[fold(dir)], "%q is a file and a folder", dir)
				folders[fold(dir)] = true
			}
		}
	})
}

package handout_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/blobs/pack"
	"drover/core/harness/cases"
	"drover/core/harness/handout"
)

func packed(t *testing.T, pairs ...string) *cases.Archive {
	t.Helper()
	files := map[string]pack.File{}
	for i := 0; i < len(pairs); i += 2 {
		files[pairs[i]] = pack.File{Content: []byte(pairs[i+1])}
	}
	var tar bytes.Buffer
	require.NoError(t, pack.Files(files, &tar, pack.Limits{Entries: 1000, Bytes: 1 << 30}))
	folder, err := cases.Index(bytes.NewReader(tar.Bytes()), int64(tar.Len()))
	require.NoError(t, err)
	return folder
}

// Long samples are cut after a whole line, and binary ones and long statements are downloads.
func TestLongFiles(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("ä", 40) + "\n"
	p, files, err := handout.Read(packed(t, "main", "secret", "handout/samples/a.in", strings.Repeat(line, 100), "handout/samples/a.ans", "\x00", "handout/samples/b.in",
		strings.Repeat("ä", 4000), "handout/statement/problem.md", strings.Repeat("x", 64<<10+1), "handout/statement/other.md", "x"))
	require.NoError(t, err)
	require.Len(t, files, 5)
	in, ans := p.Samples[0].Parts[0], p.Samples[0].Parts[1]
	assert.Equal(t, strings.Repeat(line, 50), in.Text)
	assert.True(t, in.Cut)
	assert.Empty(t, ans.Text)
	assert.True(t, ans.Cut)
	assert.Equal(t, strings.Repeat("ä", 2048), p.Samples[1].Parts[0].Text)
	assert.Equal(t, []handout.Statement{{Long: "statement/problem.md"}}, p.Statements)
}

// A harness without the folder has no handout; names that could hurt are refused, as is too much.
func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	p, _, err := handout.Read(packed(t, "main", "x"))
	require.NoError(t, err)
	assert.Nil(t, p)
	for _, bad := range []string{"a\\b", ".hidden", "a/.b", "a\nb", strings.Repeat("a", 201)} {
		_, _, err = handout.Read(packed(t, "handout/"+bad, "x"))
		assert.Equal(t, core.CodeInvalid, core.CodeOf(err), bad)
	}
	_, _, err = handout.Read(packed(t, "handout/a", strings.Repeat("x", handout.MaxBytes), "handout/b", "x"))
	assert.Equal(t, core.CodeLimit, core.CodeOf(err))
}

func TestConversation(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []handout.Interaction{{false, "5"}, {true, " 3"}, {true, ""}}, handout.Conversation("<5\n> 3\r\n\nnoise\n>\n"))
}

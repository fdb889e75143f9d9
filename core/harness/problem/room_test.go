package problem

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/blobs/archive"
)

func TestAPackagesFilesShareItsRoom(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	defer root.Close()
	u := unpacking{root: root, room: 10}
	require.NoError(t, u.take(archive.File{Path: "a", Content: strings.NewReader("seven..")}))
	require.NoError(t, u.take(archive.File{Path: "b", Content: strings.NewReader("ten")}))
	err = u.take(archive.File{Path: "c", Content: strings.NewReader("1")})
	require.Equal(t, core.CodeLimit, core.CodeOf(err), "%v", err)
}

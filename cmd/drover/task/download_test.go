package task

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
)

func TestADownloadIsFetchedWhole(t *testing.T) {
	t.Parallel()
	for content, whole := range map[string]bool{"123": false, "1234": true, "12345": false} {
		err := copyWhole(io.Discard, strings.NewReader(content), core.Download{Size: 4})
		require.Equal(t, whole, err == nil, "%s: %v", content, err)
	}
}

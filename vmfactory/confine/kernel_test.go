package confine

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTooOld(t *testing.T) {
	t.Parallel()
	for release, old := range map[string]bool{
		"6.18.44-fc": false, "5.14.0-70.el9": false, "5.13.9": true, "4.18.0-553.el8": true, "5.15": false, "odd": false, "": false,
	} {
		assert.Equal(t, old, tooOld(release), release)
	}
}

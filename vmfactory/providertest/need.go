package providertest

import (
	"os"
	"testing"
)

// Need skips a test on a machine that lacks something, and fails it in CI, which must not.
func Need(t testing.TB, there bool, what string) {
	t.Helper()
	switch {
	case there:
	case os.Getenv("CI") == "true":
		t.Fatalf("CI must have %s", what)
	default:
		t.Skipf("this test needs %s", what)
	}
}

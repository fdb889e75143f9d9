// Package tier splits the tests into those of make test and those that only make test-all runs.
//
// A test whose function calls OnlyInAll belongs to the second tier. scripts/tiers reads these calls from the source, so
// they are the one list of it.
package tier

import "testing"

// Reasons why a test is left to make test-all. The parts are those that make test does not install.
const (
	Browser   = "it needs a browser"
	LXC       = "it needs liblxc or an image"
	Mongo     = "it needs a Mongo-wire server"
	S3        = "it needs an S3 server"
	EC2       = "it needs ec2-metadata-mock"
	Compilers = "it needs compilers beside gcc"
	Host      = "it needs supervisord, cron, or the network's tools"
	Long      = "it takes long, and a shorter test fails for most of its reasons"
	Journey   = "it is the whole way through real processes; tests of its parts fail for most of its reasons"
)

// OnlyInAll skips a test in make test, which runs go test -short. It is called by the test function
// itself, in its first lines or in a subtest.
func OnlyInAll(t testing.TB, reason string) {
	t.Helper()
	if testing.Short() {
		t.Skip("make test-all runs it: " + reason)
	}
}

// Need fails a test of make test that starts a part which only make test-all has. What starts the part calls it.
func Need(t testing.TB, reason string) {
	t.Helper()
	if testing.Short() {
		t.Fatalf("%s: call tier.OnlyInAll in the test function", reason)
	}
}

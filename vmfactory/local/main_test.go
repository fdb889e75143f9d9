package local

import (
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	unix.Umask(0o077) // as drover has it
	goleak.VerifyTestMain(m)
}

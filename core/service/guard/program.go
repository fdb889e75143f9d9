package guard

import (
	"bytes"
	"context"
	"os/exec"

	"drover/core"
)

// WriteProgram writes a program that this process is going to start. A child writes
// it: the kernel starts no file that is open for writing anywhere (ETXTBSY), and
// whatever else this process starts has a copy of what is open here for a moment.
func WriteProgram(ctx context.Context, path string, content []byte) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `/bin/cat >"$1" && /bin/chmod 755 "$1"`, "sh", path)
	cmd.Stdin = bytes.NewReader(content)
	out, err := cmd.CombinedOutput()
	return core.Wrap(err, core.CodeUnavailable, path, "the program %s cannot be written: %s", path, out)
}

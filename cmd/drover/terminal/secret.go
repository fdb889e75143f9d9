package terminal

import (
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"drover/core"
)

// maxSecretBytes bounds what is read as a secret.
const maxSecretBytes = 1 << 10

// ReadSecret reads a secret from where it is seen by nobody: from standard input if the
// flag named piped says so, else from the terminal, which does not show it. prompt is what
// it is, instead says what to do without a terminal. Ends of lines are no part of it.
func ReadSecret(c *cli.Context, Prompt, piped, instead string) (secret string, err error) {
	if !c.Bool(piped) {
		t, err := TerminalOf(c, instead)
		if err != nil {
			return "", err
		}
		return t.AskHidden(Prompt)
	}
	raw, err := io.ReadAll(io.LimitReader(c.App.Reader, maxSecretBytes))
	return strings.TrimRight(string(raw), "\r\n"), core.Wrap(err, core.CodeInvalid, "", "standard input cannot be read")
}

// ReadSecretFile reads one from a file.
func ReadSecretFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", core.Wrap(err, core.CodeInvalid, path, "the secret cannot be read: name a file that this user may read")
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxSecretBytes))
	_ = file.Close() // only read from
	return strings.TrimRight(string(raw), "\r\n"), core.Wrap(err, core.CodeInvalid, path, "the secret cannot be read from %s", path)
}

package terminal

import (
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"drover/core"
)

// maxSecretBytes bounds a secret that is read, in bytes.
const maxSecretBytes = 1 << 10

// ReadSecret reads a secret: from standard input if the flag named piped is given, else from the terminal, without
// echo. Prompt names the secret, instead says what to do without a terminal. Line ends are removed.
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

// ReadSecretFile reads a secret from a file.
func ReadSecretFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", core.Wrap(err, core.CodeInvalid, path, "the secret cannot be read: name a file that this user may read")
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxSecretBytes))
	_ = file.Close() // only read from
	return strings.TrimRight(string(raw), "\r\n"), core.Wrap(err, core.CodeInvalid, path, "the secret cannot be read from %s", path)
}

package terminal

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"drover/core"
)

// maxTyped bounds a line that somebody types.
const maxTyped = 4 << 10

// Prompt asks a person on a terminal.
type Prompt struct {
	in  *os.File
	say io.Writer
}

// TerminalOf returns the terminal of a command. Returns INVALID if there is none, with what to use instead.
func TerminalOf(c *cli.Context, instead string) (*Prompt, error) {
	in, isFile := c.App.Reader.(*os.File)
	if !isFile || !term.IsTerminal(int(in.Fd())) {
		return nil, core.Errorf(core.CodeInvalid, "", "there is no terminal to ask at: use %s", instead)
	}
	return &Prompt{in, c.App.ErrWriter}, nil
}

// Ask asks for a line.
func (p *Prompt) Ask(what string) (string, error) {
	fmt.Fprint(p.say, what+": ")
	line, err := bufio.NewReader(io.LimitReader(p.in, maxTyped)).ReadString('\n')
	if err != nil {
		return "", unanswered(err)
	}
	return strings.TrimSpace(line), nil
}

// AskHidden asks for a line that is not shown. Ctrl-C leaves the terminal as it was.
func (p *Prompt) AskHidden(what string) (string, error) {
	fd := int(p.in.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", unanswered(err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	type answer struct {
		typed []byte
		err   error
	}
	got := make(chan answer, 1)
	fmt.Fprint(p.say, what+" (it is not shown): ")
	go func() {
		typed, err := term.ReadPassword(fd)
		got <- answer{typed, err}
	}()
	select {
	case a := <-got:
		fmt.Fprintln(p.say)
		if a.err != nil {
			return "", unanswered(a.err)
		}
		return string(a.typed), nil
	case <-signals:
		fmt.Fprintln(p.say)
		_ = term.Restore(fd, before) // the program ends
		return "", ExitCode(ExitStopped)
	}
}

func unanswered(err error) error {
	return core.Wrap(err, core.CodeInvalid, "", "there was no answer")
}

package transfer

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"drover/core"
)

// git runs the program git in a folder of its own, without the configuration of system and user.
type git struct {
	dir   string
	proxy string
	cert  string
}

// limits of one run of git: 1 GiB of memory, files of 128 MiB, 60 s of computing.
const limited = `ulimit -v 1048576 && ulimit -f 262144 && ulimit -t 60 && exec git "$@"`

// maxSaid bounds what is kept of git's output.
const maxSaid = 16 << 10

func (g *git) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", limited, "git"}, args...)...)
	c.Dir = g.dir
	c.Env = g.environment()
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) } // its helpers, too
	c.WaitDelay = time.Second
	return c
}

func (g *git) environment() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "LC_ALL=C", "GIT_DIR=" + g.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=https", "GIT_NO_LAZY_FETCH=1", "GIT_ATTR_NOSYSTEM=1",
	}
	settings := [][2]string{
		{"http.proxy", g.proxy},
		{"http.sslVerify", "true"},
		{"credential.helper", ""},
		{"core.hooksPath", "/dev/null"},
		{"core.askPass", "/bin/false"},
		{"fetch.unpackLimit", "1"},
		{"transfer.fsckObjects", "false"},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"core.bigFileThreshold", "1m"},
		{"pack.threads", "1"},
	}
	if g.cert != "" {
		settings = append(settings, [2]string{"http.sslCAInfo", g.cert})
	}
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
	for i, s := range settings {
		env = append(env, "GIT_CONFIG_KEY_"+strconv.Itoa(i)+"="+s[0], "GIT_CONFIG_VALUE_"+strconv.Itoa(i)+"="+s[1])
	}
	return env
}

// run runs git and returns what it printed, also to its standard error.
func (g *git) run(ctx context.Context, args ...string) (string, error) {
	c := g.command(ctx, args...)
	said := &beginning{}
	c.Stdout, c.Stderr = said, said
	err := c.Run()
	return said.String(), core.Wrap(err, core.CodeInternal, "", "git failed")
}

// archive has the files of a commit read as an archive.
func (g *git) archive(ctx context.Context, commit string, read func(io.Reader) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := g.command(ctx, "archive", "--format=tar", commit)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return core.Wrap(err, core.CodeInternal, "", "the repository cannot be read")
	}
	readErr := read(out)
	if readErr != nil {
		cancel()
	}
	err = c.Wait()
	if readErr != nil {
		return readErr
	}
	if err != nil {
		return core.Errorf(core.CodeInvalid, "", "the files of the commit cannot be read: submit an archive of them")
	}
	return nil
}

// beginning keeps the first bytes of an output.
type beginning struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *beginning) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), maxSaid-b.Len())])
	return len(p), nil
}

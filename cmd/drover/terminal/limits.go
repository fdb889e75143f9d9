package terminal

import (
	"github.com/docker/go-units"
	"github.com/urfave/cli/v2"

	"drover/core"
)

// LimitFlags are those of the limits of a run.
func LimitFlags() []cli.Flag {
	return []cli.Flag{
		&cli.DurationFlag{Name: "timeout", Usage: "most wall time of a run, and what one gets that asks for none"},
		&cli.StringFlag{Name: "memory", Usage: "most memory of a run, such as `256MiB`"},
		&cli.StringFlag{Name: "disk", Usage: "most bytes in each writable place"},
		&cli.StringFlag{Name: "file-size", Usage: "most bytes of one file"},
		&cli.IntFlag{Name: "pids", Usage: "most processes and threads"},
		&cli.IntFlag{Name: "open-files", Usage: "most open files of a process"},
		&cli.StringFlag{Name: "output", Usage: "bytes kept of each of stdout and stderr"},
	}
}

// ApplyLimitFlags changes those limits that flags name.
func ApplyLimitFlags(c *cli.Context, l *core.Limits) error {
	for name, into := range map[string]*int{"pids": &l.Pids, "open-files": &l.OpenFiles} {
		if c.IsSet(name) {
			*into = c.Int(name)
		}
	}
	for name, into := range map[string]*int64{"memory": &l.Memory, "disk": &l.Disk, "file-size": &l.FileSize, "output": &l.Output} {
		if err := SizeFlag(c, name, into); err != nil {
			return err
		}
	}
	if c.IsSet("timeout") {
		l.Timeout = c.Duration("timeout")
	}
	return nil
}

// SizeFlag reads a flag that is a number of bytes, if it was given.
func SizeFlag(c *cli.Context, name string, into *int64) error {
	if !c.IsSet(name) {
		return nil
	}
	return ReadSize(name, c.String(name), into)
}

// ReadSize reads the value of a flag that is a number of bytes.
func ReadSize(name, value string, into *int64) error {
	n, err := units.RAMInBytes(value)
	if err != nil || n < 0 {
		return core.Errorf(core.CodeInvalid, name, "--%s %q is not a size: write a number and a unit, such as 64MiB", name, value)
	}
	*into = n
	return nil
}

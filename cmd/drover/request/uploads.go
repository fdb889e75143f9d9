package request

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/blobs/nameless"
	"drover/core/harness"
	"drover/core/requests/intake"
)

// maxStdin bounds the standard input that a client sends.
const maxStdin = 64 << 20

// Uploads opens files, or all files of folders under their paths there, one after the other.
func Uploads(paths []string) iter.Seq2[intake.Upload, error] {
	return func(yield func(intake.Upload, error) bool) {
		for _, root := range paths {
			err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
				if err != nil {
					return core.Wrap(err, core.CodeInvalid, at, "%s cannot be read", at)
				}
				if d.IsDir() {
					return nil
				}
				return upload(root, at, yield)
			})
			if errors.Is(err, fs.SkipAll) {
				return
			}
			if err != nil {
				yield(intake.Upload{}, err)
				return
			}
		}
	}
}

// upload yields one file; SkipAll if no more are wanted.
func upload(root, at string, yield func(intake.Upload, error) bool) error {
	in, info, err := openPlain(at, at == root)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read from
	name, err := filepath.Rel(root, at)
	if err != nil || at == root {
		name = filepath.Base(at)
	}
	if !yield(intake.Upload{Path: path.Clean(filepath.ToSlash(name)), Mode: uint32(info.Mode().Perm()), Content: in}, nil) {
		return fs.SkipAll
	}
	return nil
}

// openPlain opens a plain file. A link named as an argument is followed, one in a folder is not.
func openPlain(at string, named bool) (*os.File, fs.FileInfo, error) {
	// Before it is opened: opening a FIFO would wait for its writer.
	stat := os.Lstat
	if named {
		stat = os.Stat
	}
	info, err := stat(at)
	if err != nil {
		return nil, nil, core.Wrap(err, core.CodeInvalid, at, "%s cannot be read", at)
	}
	if info.IsDir() {
		return nil, nil, core.Errorf(core.CodeInvalid, at, "%s is a folder, or a link to one: name its files or, where folders are taken, the folder itself as %s/", at, at)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, core.Errorf(core.CodeInvalid, at, "%s is not a plain file: links in folders, sockets and devices are not sent", at)
	}
	in, err := os.Open(at)
	if err != nil {
		return nil, nil, core.Wrap(err, core.CodeInvalid, at, "%s cannot be read", at)
	}
	return in, info, nil
}

// checkUploads returns what is wrong with files before any is sent.
func checkUploads[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// gradedFiles yields the harness, and the files that it grades.
func gradedFiles(pack *harness.Package, submission []string) iter.Seq2[intake.Upload, error] {
	return func(yield func(intake.Upload, error) bool) {
		if !yield(intake.Upload{Part: intake.PartHarness, Path: harness.TarFile, Content: pack.Tar()}, nil) {
			return
		}
		Uploads(submission)(yield)
	}
}

// commandFiles yields the files of a command, each under its own name, and its standard input.
func commandFiles(paths []string, stdin io.ReadSeeker) iter.Seq2[intake.Upload, error] {
	return func(yield func(intake.Upload, error) bool) {
		for _, at := range paths {
			in, info, err := openPlain(at, true)
			if err != nil {
				yield(intake.Upload{}, err)
				return
			}
			more := yield(intake.Upload{Path: filepath.Base(at), Mode: uint32(info.Mode().Perm()), Content: in}, nil)
			_ = in.Close() // only read from
			if !more {
				return
			}
		}
		if stdin != nil {
			_, err := stdin.Seek(0, io.SeekStart)
			yield(intake.Upload{Part: intake.PartStdin, Path: string(intake.PartStdin), Content: stdin}, err)
		}
	}
}

// openStdin opens the file of --stdin, so that it can be read more than once; nil for none.
func openStdin(c *cli.Context) (io.ReadSeekCloser, error) {
	switch at := c.String("stdin"); at {
	case "":
		return nil, nil //nolint:nilnil // no standard input is no fault
	case "-":
		return keepStdin(c.App.Reader)
	default:
		in, _, err := openPlain(at, true)
		if err != nil {
			return nil, err
		}
		return in, nil
	}
}

// keepStdin reads the standard input into a file without a name.
func keepStdin(from io.Reader) (io.ReadSeekCloser, error) {
	kept, err := nameless.Read(from, maxStdin, "")
	if core.Is(err, core.CodeLimit) {
		err = core.Errorf(core.CodeLimit, "stdin", "the standard input has more than %d bytes: give the command a file", int64(maxStdin))
	}
	if err != nil {
		return nil, core.Wrap(err, core.CodeOf(err), "stdin", "the standard input cannot be read")
	}
	return struct {
		io.ReadSeeker
		io.Closer
	}{kept.Whole(), kept}, nil
}

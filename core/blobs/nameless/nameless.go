// Package nameless keeps streams that must be read to their end before anything is done with them: a little in memory, the
// rest in a file without a name, of which nothing stays, even if the process is killed.
package nameless

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"drover/core"
)

// memory is how much of a stream is held in memory before it goes to disk.
const memory = 1 << 20

// File is a stream that can be added to, and read at any place. It need not be closed: its file is gone with its last
// use. It is not safe for use while it is written.
type File struct {
	dir    string
	memory []byte
	file   *os.File // nil while memory has it all
	size   int64
}

// New makes an empty one, whose file is in dir; "" is the folder for temporary files.
func New(dir string) *File {
	if dir == "" {
		dir = os.TempDir()
	}
	return &File{dir: dir}
}

// Read reads a stream to its end. Returns LIMIT for more than most bytes.
func Read(from io.Reader, most int64, dir string) (*File, error) {
	f := New(dir)
	_, err := io.Copy(f, io.LimitReader(from, most+1))
	if err == nil && f.size > most {
		err = core.Errorf(core.CodeLimit, "", "the file is larger than the %d bytes allowed", most)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Write adds to the end. Returns UNAVAILABLE if there is no room.
func (f *File) Write(p []byte) (int, error) {
	if f.file == nil && f.size+int64(len(p)) <= memory {
		f.memory = append(f.memory, p...)
		f.size = int64(len(f.memory))
		return len(p), nil
	}
	if err := f.toDisk(); err != nil {
		return 0, err
	}
	n, err := f.file.Write(p)
	f.size += int64(n)
	return n, full(err, f.dir)
}

// toDisk moves what memory has to the file.
func (f *File) toDisk() error {
	if f.file != nil {
		return nil
	}
	file, err := open(f.dir)
	if err != nil {
		return full(err, f.dir)
	}
	if _, err := file.Write(f.memory); err != nil {
		return errors.Join(full(err, f.dir), file.Close())
	}
	f.file, f.memory = file, nil
	return nil
}

// Size is how many bytes there are.
func (f *File) Size() int64 { return f.size }

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, at int64) (int, error) {
	if f.file != nil {
		return f.file.ReadAt(p, at)
	}
	return bytes.NewReader(f.memory).ReadAt(p, at)
}

// Whole reads it from the start. Each reader has a place of its own.
func (f *File) Whole() *io.SectionReader { return io.NewSectionReader(f, 0, f.size) }

// Close gives the room back at once.
func (f *File) Close() error {
	f.memory = nil
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// open makes a file without a name. On file systems without that, it has a name for a moment.
func open(dir string) (*os.File, error) {
	if fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600); err == nil {
		return os.NewFile(uintptr(fd), filepath.Join(dir, "nameless")), nil
	}
	f, err := os.CreateTemp(dir, ".nameless-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// full gives an error about the folder a text.
func full(err error, dir string) error {
	return core.Wrap(err, core.CodeUnavailable, dir, "folder %s cannot take a file that is being read: see that it has room", dir)
}

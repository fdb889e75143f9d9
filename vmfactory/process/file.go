package process

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// ReadFile reads a small file of /proc or of a cgroup. Package os would add such a file to the poller of the runtime,
// which costs more than reading it.
func ReadFile(path string) ([]byte, error) {
	fd, err := open(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer CloseFD(fd)
	return read(fd, path)
}

// SetFile writes to an existing file of a cgroup, in one call, unless the text is empty, and returns the line that is
// in it then.
func SetFile(path, text string) ([]byte, error) {
	fd, err := open(path, unix.O_RDWR)
	if err != nil {
		return nil, err
	}
	defer CloseFD(fd)
	if text != "" {
		if err := write(fd, path, text); err != nil {
			return nil, err
		}
	}
	line := make([]byte, 128)
	for {
		n, err := unix.Pread(fd, line, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		default:
			return line[:n], nil
		}
	}
}

// WriteFile writes to an existing file of /proc or of a cgroup, in one call.
func WriteFile(path, text string) error {
	fd, err := open(path, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer CloseFD(fd)
	return write(fd, path, text)
}

// read reads a file from its beginning, wherever its descriptor is.
func read(fd int, path string) ([]byte, error) {
	text := make([]byte, 0, 512)
	for {
		n, err := unix.Pread(fd, text[len(text):cap(text)], int64(len(text)))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return text, nil
		default:
			if text = text[:len(text)+n]; len(text) == cap(text) {
				text = append(text, make([]byte, len(text))...)[:len(text)]
			}
		}
	}
}

func write(fd int, path, text string) error {
	for {
		n, err := unix.Write(fd, []byte(text))
		switch {
		case errors.Is(err, unix.EINTR):
		case err == nil && n < len(text):
			return &fs.PathError{Op: "write", Path: path, Err: unix.EIO}
		case err != nil:
			return &fs.PathError{Op: "write", Path: path, Err: err}
		default:
			return nil
		}
	}
}

func open(path string, how int) (int, error) {
	for {
		fd, err := unix.Open(path, how|unix.O_CLOEXEC, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		default:
			return fd, nil
		}
	}
}

package probe

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// locks looks whether somebody else holds a lock on Files[0]; it holds one itself
// until it is killed if PID is not 0.
func locks(t Target) error {
	fd, err := unix.Open(t.Files[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if t.PID != 0 {
		_, _ = os.Stdout.WriteString("locked\n")
		stay()
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errors.New("sees another's lock on a file of the system")
	}
	return nil
}

// queues looks for a message queue that another left under Marker, and leaves one.
func queues(t Target) error {
	name, err := unix.BytePtrFromString(t.Marker)
	if err != nil {
		return err
	}
	const how = unix.O_CREAT | unix.O_EXCL | unix.O_RDWR
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), how, 0o666, 0, 0, 0)
	switch errno {
	case unix.EEXIST:
		return errors.New("another's message queue is there already")
	case 0:
		_ = unix.Close(int(fd))
	}
	return nil
}

package boxrun

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"drover/core/agent/wire"
)

// ask has the agent run the command, and carries its streams until it has ended.
func (c *call) ask(stdin io.Reader, stdout, stderr *os.File) (wire.Exit, error) {
	c.spec.Files = os.Getenv(wire.EnvPeer) != ""
	spec, err := json.Marshal(c.spec)
	if err != nil {
		return wire.Exit{}, err
	}
	if len(spec) > wire.MaxSpec {
		return wire.Exit{}, fmt.Errorf("the command and its environment have %d bytes; %d are allowed", len(spec), wire.MaxSpec)
	}
	at := os.Getenv(wire.EnvBox)
	if at == "" {
		at = path.Join(wire.Home, wire.BoxSocket)
	}
	conn, err := dial(at)
	if err != nil {
		return wire.Exit{}, fmt.Errorf("nobody answers here: only a harness can call it, while it grades (%w)", err)
	}
	defer conn.Close()                                                                                                                                                               //nolint:errcheck // all that counts was read
	head := append([]byte("POST "+wire.PathBox+" HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), chunk(append(binary.BigEndian.AppendUint32(nil, uint32(len(spec))), spec...))...) //nolint:gosec // at most MaxSpec
	// If it is refused in the middle, the answer says why.
	if _, err := conn.Write(head); err != nil && !errors.Is(err, syscall.EPIPE) {
		return wire.Exit{}, err
	}
	if c.spec.Files {
		if err := sendFiles(conn, os.Getenv(wire.EnvFiles)); err != nil && !errors.Is(err, syscall.EPIPE) {
			return wire.Exit{}, err
		}
	}
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	go send(conn, stdin)
	in := bufio.NewReader(conn)
	if err := readAnswer(in); err != nil {
		return wire.Exit{}, err
	}
	out, errs := newOutlet(stdout), newOutlet(stderr)
	exit, err := follow(&frames{in: in}, out, errs)
	return exit, errors.Join(err, out.close(), errs.close())
}

// dial connects, whatever the length of the path.
func dial(at string) (*os.File, error) {
	const oPath = 0x200000
	dir, err := syscall.Open(path.Dir(at), oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(dir) //nolint:errcheck // only named
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: "/proc/self/fd/" + strconv.Itoa(dir) + "/" + path.Base(at)})
	if err == nil {
		err = syscall.SetNonblock(fd, true) // for the poller
	}
	conn := os.NewFile(uintptr(fd), "agent")
	if err != nil {
		_ = conn.Close() // nothing was written
		return nil, err
	}
	return conn, nil
}

const (
	lastChunk = "0\r\n\r\n"
	readSize  = 32 << 10
)

func chunk(b []byte) []byte {
	return append(append(fmt.Appendf(nil, "%x\r\n", len(b)), b...), "\r\n"...)
}

// send carries standard input. What cannot be read ends it; a command that takes no
// more of it leaves the rest where it is.
func send(conn io.Writer, stdin io.Reader) {
	buf := make([]byte, readSize)
	for {
		n, err := stdin.Read(buf)
		if n > 0 {
			if _, werr := conn.Write(chunk(buf[:n])); werr != nil {
				return
			}
		}
		if err != nil {
			_, _ = io.WriteString(conn, lastChunk) // the answer tells if that fails
			return
		}
	}
}

// readAnswer reads the head of the answer, and what it says if it is a refusal.
func readAnswer(in *bufio.Reader) error {
	status, length := "", 0
	for first := true; ; first = false {
		line, err := in.ReadString('\n')
		if err != nil {
			return errBroken
		}
		line = strings.TrimRight(line, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		switch {
		case first:
			status = line
		case line == "" && strings.HasPrefix(status, "HTTP/1.1 200 "):
			return nil
		case line == "":
			return refusal(in, length)
		case strings.EqualFold(name, "content-length"):
			length, _ = strconv.Atoi(strings.TrimSpace(value)) // what is none has no text
		}
	}
}

func refusal(in io.Reader, length int) error {
	text := make([]byte, min(max(length, 0), wire.MaxBody))
	if _, err := io.ReadFull(in, text); err != nil {
		return errBroken
	}
	var r wire.Refusal
	if err := json.Unmarshal(text, &r); err != nil {
		return errBroken
	}
	return r.Err("")
}

var errBroken = errors.New("the agent of the VM ended the conversation: the grading is over")

// frames is the body of the answer: one frame in each chunk.
type frames struct {
	in   *bufio.Reader
	left int
}

// Read reads on in the chunks.
func (f *frames) Read(b []byte) (int, error) {
	for f.left == 0 {
		line, err := f.in.ReadString('\n')
		if err != nil {
			return 0, io.ErrUnexpectedEOF
		}
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			continue // the end of the chunk before
		}
		size, err := strconv.ParseUint(line, 16, 20)
		if err != nil || size == 0 {
			return 0, io.ErrUnexpectedEOF
		}
		f.left = int(size)
	}
	n, err := f.in.Read(b[:min(len(b), f.left)])
	f.left -= n
	return n, err
}

// follow reads a run's frames to the last.
func follow(in io.Reader, out, errs *outlet) (wire.Exit, error) {
	buf := make([]byte, wire.MaxFrame)
	for {
		kind, data, err := wire.ReadFrame(in, buf)
		if err != nil {
			return wire.Exit{}, errBroken
		}
		switch kind {
		case wire.KindStdout:
			out.write(data)
		case wire.KindStderr:
			errs.write(data)
		case wire.KindExit:
			var exit wire.Exit
			return exit, json.Unmarshal(data, &exit)
		case wire.KindFault:
			var fault wire.Refusal
			if err := json.Unmarshal(data, &fault); err != nil {
				return wire.Exit{}, errBroken
			}
			return wire.Exit{}, fault.Err("")
		case wire.KindAlive, wire.KindFile, wire.KindData, wire.KindSkipped, wire.KindTaken, wire.KindClosed, wire.KindLate: // nothing to carry
		}
	}
}

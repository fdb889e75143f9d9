package wire

import (
	"encoding/binary"
	"io"
	"strings"
	"unicode/utf8"

	"drover/core"
)

// EntryKind is the first byte of an entry. There is no kind for links, devices
// or pipes: what cannot be said cannot be staged.
type EntryKind byte

// The kinds of entries.
const (
	EntryFile EntryKind = 'F' // Size bytes follow
	EntryDir  EntryKind = 'D'
	EntryEnd  EntryKind = 'E' // all of the archive is there
	EntryVoid EntryKind = 'V' // the sender gave up: nothing of it shall be there
)

// Entry is one file or folder of an archive as it travels.
type Entry struct {
	Kind EntryKind
	Mode uint32 // permission bits
	Size int64  // of a file, bytes
	Name string // relative path, slash separated
}

const entryHead = 1 + 4 + 8 + 2

// AppendEntry appends e's encoding to b. The name must have passed CheckName.
func AppendEntry(b []byte, e Entry) []byte {
	b = append(b, byte(e.Kind))
	b = binary.BigEndian.AppendUint32(b, e.Mode)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Size))      //nolint:gosec // never negative
	b = binary.BigEndian.AppendUint16(b, uint16(len(e.Name))) //nolint:gosec // at most MaxName
	return append(b, e.Name...)
}

// ReadEntry reads one entry and checks it. The bytes of a file are left to the caller.
func ReadEntry(r io.Reader) (Entry, error) {
	var buf [entryHead + MaxName]byte
	head := buf[:entryHead]
	if _, err := io.ReadFull(r, head); err != nil {
		return Entry{}, err
	}
	e := Entry{
		Kind: EntryKind(head[0]),
		Mode: binary.BigEndian.Uint32(head[1:]),
		Size: int64(binary.BigEndian.Uint64(head[5:])), //nolint:gosec // checked below
	}
	length := int(binary.BigEndian.Uint16(head[13:]))
	if length > MaxName {
		return Entry{}, core.Errorf(core.CodeLimit, "", "a name of the archive has %d bytes; %d are allowed", length, MaxName)
	}
	name := buf[entryHead : entryHead+length]
	if _, err := io.ReadFull(r, name); err != nil {
		return Entry{}, err
	}
	e.Name = string(name)
	return e, e.check()
}

func (e Entry) check() error {
	switch e.Kind {
	case EntryFile, EntryDir:
		if e.Size < 0 || e.Kind == EntryDir && e.Size > 0 {
			return core.Errorf(core.CodeInvalid, "", "%q cannot have %d bytes", e.Name, e.Size)
		}
		return CheckName(e.Name)
	case EntryEnd, EntryVoid:
		if e.Name == "" && e.Size == 0 {
			return nil
		}
	}
	return core.Errorf(core.CodeInvalid, "", "an entry of kind %q is not known", rune(e.Kind))
}

// CheckName returns nil if a file may be staged under the path: relative, clean,
// readable on a terminal, and within MaxName, MaxPart and MaxDepth.
func CheckName(path string) error {
	switch {
	case path == "":
		return core.Errorf(core.CodeInvalid, "", "an entry of the archive has no name")
	case len(path) > MaxName:
		return core.Errorf(core.CodeLimit, "", "the name %.40q… has %d bytes; %d are allowed", path, len(path), MaxName)
	case path[0] == '/':
		return core.Errorf(core.CodeInvalid, "", "the name %q is absolute; archives hold relative names", path)
	case !utf8.ValidString(path) || strings.ContainsFunc(path, control):
		return core.Errorf(core.CodeInvalid, "", "the name %q holds control characters or is not UTF-8", path)
	}
	depth := 0
	for part := range strings.SplitSeq(path, "/") {
		depth++
		switch {
		case part == "" || part == "." || part == "..":
			return core.Errorf(core.CodeInvalid, "", "the name %q holds %q; it may leave its place", path, part)
		case len(part) > MaxPart:
			return core.Errorf(core.CodeLimit, "", "the name %.40q… has a part of %d bytes; %d are allowed", path, len(part), MaxPart)
		case depth > MaxDepth:
			return core.Errorf(core.CodeLimit, "", "the name %.40q… is deeper than %d folders", path, MaxDepth)
		}
	}
	return nil
}

func control(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }

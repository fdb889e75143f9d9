package wire

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"strings"

	"drover/core"
)

// ReadSpec reads the head of a run's body: a number of bytes, and so much JSON. What follows is left to the caller.
// Returns LIMIT for more than MaxSpec, INVALID for what is none.
func ReadSpec(body io.Reader, into any) error {
	var size [4]byte
	if _, err := io.ReadFull(body, size[:]); err != nil {
		return core.Wrap(err, core.CodeInvalid, "", "read the run")
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > MaxSpec {
		return core.Errorf(core.CodeLimit, "", "the run has %d bytes; %d are allowed", n, MaxSpec)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(body, text); err != nil {
		return core.Wrap(err, core.CodeInvalid, "", "read the run")
	}
	return core.Wrap(json.Unmarshal(text, into), core.CodeInvalid, "", "read the run")
}

// CheckState returns nil if something may be kept under the name.
func CheckState(name string) error {
	if name == "" || len(name) > MaxKeptName || strings.ContainsFunc(name, func(c rune) bool { return c < 'a' || c > 'z' }) {
		return core.Errorf(core.CodeInvalid, "", "%q names no state: that is 1 to %d small letters", name, MaxKeptName)
	}
	return nil
}

package core

import (
	"strconv"
	"strings"
)

// MaxNameLen is the longest name or id, in bytes, that drover accepts.
const MaxNameLen = 63

// ValidName reports whether s may become part of a Redis key, a file name or a
// host name: lower-case letters, digits and inner hyphens, at most MaxNameLen bytes.
func ValidName(s string) bool {
	for i := range len(s) {
		c := s[i]
		inner := c == '-' && i > 0 && i < len(s)-1
		if !inner && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= MaxNameLen
}

// CheckName returns nil for a valid name. Otherwise it returns an INVALID error that says what kind of name it is and
// how to correct it.
func CheckName(kind, s string) error {
	if ValidName(s) {
		return nil
	}
	return Errorf(CodeInvalid, s,
		"%s %.80q is not a valid name: use 1 to %d of a-z, 0-9 and inner hyphens", kind, s, MaxNameLen)
}

// Key names one generation of a request in Redis: "<id>-<generation>". A rerun
// is a new generation, so nothing left of the old one can be taken for it.
func Key(id string, generation int) string {
	return id + "-" + strconv.Itoa(generation)
}

// ParseKey splits a Key into request id and generation. It returns an INVALID
// error for anything that Key cannot have made.
func ParseKey(key string) (id string, generation int, err error) {
	cut := strings.LastIndexByte(key, '-')
	if cut > 0 {
		generation, err = strconv.Atoi(key[cut+1:])
		if err == nil && generation > 0 && ValidName(key[:cut]) {
			return key[:cut], generation, nil
		}
	}
	return "", 0, Errorf(CodeInvalid, key, "%.80q is not a request key of the form <id>-<generation>", key)
}

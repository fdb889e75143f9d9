package blobs

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"strings"

	"drover/core"
	"drover/core/service/pattern"
)

// scheme is the prefix of digests.
const scheme = "sha256:"

var hexPattern = pattern.New(`^[0-9a-f]{64}$`)

// hexOf returns the hex digits of a digest, or INVALID.
func hexOf(digest string) (string, error) {
	digits, ok := strings.CutPrefix(digest, scheme)
	if !ok || !hexPattern().MatchString(digits) {
		return "", core.Errorf(core.CodeInvalid, digest, "%.80q is not a digest: it has the form sha256: and 64 hex digits", digest)
	}
	return digits, nil
}

// keyOf returns the key of a digest's file.
func keyOf(digits string) string {
	return folder + digits[:2] + "/" + digits[2:4] + "/" + digits
}

// folder is the prefix of all keys of files.
const folder = "sha256/"

// verified reads a file and returns its last bytes only if the whole content matches its digest.
type verified struct {
	from   io.ReadCloser
	digits string
	left   int64 // bytes still expected
	sum    hash.Hash
	failed error
}

func verify(from io.ReadCloser, digits string, size int64) io.ReadCloser {
	return &verified{from: from, digits: digits, left: size, sum: sha256.New()}
}

// Read reads on. The bytes that complete a damaged file are held back.
func (v *verified) Read(p []byte) (int, error) {
	if v.failed != nil {
		return 0, v.failed
	}
	n, err := v.from.Read(p)
	v.sum.Write(p[:n])
	v.left -= int64(n)
	switch {
	case err != nil && err != io.EOF: // readers return io.EOF itself
		v.failed = fault(err, scheme+v.digits)
	case v.left < 0, err == io.EOF && v.left > 0, v.left == 0 && hex.EncodeToString(v.sum.Sum(nil)) != v.digits: // as above
		v.failed = damaged(v.digits)
		n = 0
	case err != nil:
		v.failed = err
	}
	return n, v.failed
}

// Close ends the reading.
func (v *verified) Close() error { return fault(v.from.Close(), scheme+v.digits) }

func damaged(digits string) error {
	return core.Wrap(core.ErrDamaged, core.CodeUnavailable, scheme+digits, "file %s%s is damaged in the blob store: put it there again", scheme, digits)
}

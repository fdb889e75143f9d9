// Package secrets makes the secrets by which programs, links and hosts are known, and the hashes under which the result
// store has them.
package secrets

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"math/big"
	"strings"
)

// A secret is a mark, 32 random bytes and a checksum of both, in base 62: scanners recognize a leaked secret, and
// typing errors are refused without a query.
const (
	Token = "dro_" // mark of a program's
	Link  = "drl_" // of a sign-in link
	Join  = "drj_" // of a token by which hosts join

	bodyLen = 43 // 62^43 > 2^256
	sumLen  = 6  // 62^6 > 2^32
)

// New makes a secret of a mark.
func New(mark string) string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	text := mark + base62(new(big.Int).SetBytes(b[:]), bodyLen)
	return text + checksum(text)
}

// WellFormed reports whether a text can be a secret of the mark.
func WellFormed(mark, secret string) bool {
	cut := len(mark) + bodyLen
	return len(secret) == cut+sumLen && strings.HasPrefix(secret, mark) && checksum(secret[:cut]) == secret[cut:]
}

func checksum(text string) string {
	return base62(new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(text)))), sumLen)
}

func base62(n *big.Int, width int) string {
	text := n.Text(62)
	return strings.Repeat("0", width-len(text)) + text
}

// Hash returns the SHA-256 of a secret in lower-case hex, under which the store has it.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

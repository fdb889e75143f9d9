package school

import (
	hash "crypto/sha256"
	"encoding/hex"
)

// Pseudonym stands for the user of a submission. It is made from the submission's id alone, so that a reader of
// the list of submissions finds the user again, and nobody finds the id from it.
func Pseudonym(submission string) string {
	sum := hash.Sum256([]byte("pseudonym\n" + submission))
	return "s-" + hex.EncodeToString(sum[:6])
}

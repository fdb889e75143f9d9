package problem

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"drover/core/harness"
	"drover/core/school"
)

// Type is the problem's type in the format's words.
func (p *Problem) Type() string {
	words := []string{"pass-fail"}
	if p.Scoring {
		words[0] = "scoring"
	}
	if p.Interactive {
		words = append(words, "interactive")
	}
	if p.Passes > 0 {
		words = append(words, "multi-pass")
	}
	if p.Answers {
		words = append(words, "submit-answer")
	}
	return strings.Join(words, " ")
}

// Digest is the SHA-256 of the package's files with their names, by which two copies of a package are known as one.
func (p *Problem) Digest() (string, error) {
	sum := sha256.New()
	for _, name := range p.files {
		in, err := p.root.Open(name)
		if err != nil {
			return "", err
		}
		one := sha256.New()
		_, err = io.Copy(one, in)
		if err = errors.Join(err, in.Close()); err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%x  %s\n", one.Sum(nil), name)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// origin writes of which package the folder was made.
func (w *writer) origin() {
	const most = 200 // characters of a title
	p := w.p
	title := []rune(strings.ToValidUTF8(p.Title, "\ufffd"))
	is := school.Origin{Title: string(title[:min(len(title), most)]), Format: p.Format, Type: p.Type(), TimeMs: p.Limits.Time.Milliseconds(), Memory: p.Limits.Memory}
	for i := range p.Groups {
		is.Tests += len(p.Groups[i].Tests)
	}
	digest, err := p.Digest()
	if err == nil {
		is.Digest = digest
		var raw []byte
		if raw, err = json.Marshal(is); err == nil {
			w.put(harness.ProblemFile, raw, 0o600)
		}
	}
	w.err = errors.Join(w.err, err)
}

package cases

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Right compares an output with the expected one. Where says where they differ, without revealing either. An error
// means that the expected output is an invalid pattern.
func (c *Compare) Right(got, want []byte) (ok bool, where string, err error) {
	switch c.By {
	case Exact:
		return c.same(got, want), firstByte(got, want), nil
	case Regex:
		pattern := c.pattern
		if pattern == nil {
			if pattern, err = c.compile(string(want)); err != nil {
				return false, "", err
			}
		}
		return pattern.Match(got), "it does not match the pattern", nil
	case Tokens, Float:
		ok, where = c.tokens(bytes.Fields(got), bytes.Fields(want))
		return ok, where, nil
	}
	ok, where = c.lines(got, want)
	return ok, where, nil
}

func firstByte(got, want []byte) string {
	n := 0
	for n < len(got) && n < len(want) && got[n] == want[n] {
		n++
	}
	return fmt.Sprintf("line %d differs", 1+bytes.Count(got[:n], []byte{'\n'}))
}

func (c *Compare) lines(got, want []byte) (bool, string) {
	g, w := lines(got), lines(want)
	for i := range min(len(g), len(w)) {
		if !c.same(g[i], w[i]) {
			return false, fmt.Sprintf("line %d differs", i+1)
		}
	}
	switch {
	case len(g) < len(w):
		return false, fmt.Sprintf("it ends after line %d", len(g))
	case len(g) > len(w):
		return false, fmt.Sprintf("there is more after line %d", len(w))
	}
	return true, ""
}

// lines splits a text into lines without invisible white space.
func lines(text []byte) [][]byte {
	const unseen = " \t\r\n\v\f"
	text = bytes.TrimRight(text, unseen)
	if len(text) == 0 {
		return nil
	}
	all := bytes.Split(text, []byte{'\n'})
	for i := range all {
		all[i] = bytes.TrimRight(all[i], unseen)
	}
	return all
}

func (c *Compare) same(a, b []byte) bool {
	return bytes.Equal(a, b) || c.IgnoreCase && bytes.EqualFold(a, b)
}

func (c *Compare) tokens(got, want [][]byte) (bool, string) {
	for i := range min(len(got), len(want)) {
		if !c.same(got[i], want[i]) && (c.By != Float || !c.near(got[i], want[i])) {
			return false, fmt.Sprintf("word %d differs", i+1)
		}
	}
	switch {
	case len(got) < len(want):
		return false, fmt.Sprintf("it ends after word %d", len(got))
	case len(got) > len(want):
		return false, fmt.Sprintf("there is more after word %d", len(want))
	}
	return true, ""
}

// near reports whether both are finite numbers that differ by little.
func (c *Compare) near(got, want []byte) bool {
	g, ok := decimal(got)
	w, also := decimal(want)
	if !ok || !also {
		return false
	}
	off := math.Abs(g - w)
	return off <= c.Absolute || off <= c.Relative*math.Abs(w)
}

// decimal reads a number as people write it: no hexadecimal, no underscores, no infinity.
func decimal(b []byte) (float64, bool) {
	const longest = 400
	if len(b) > longest || bytes.ContainsFunc(b, func(r rune) bool { return !strings.ContainsRune("0123456789+-.eE", r) }) {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(b), 64)
	return v, err == nil
}

// longestFence keeps a text of nothing but backquotes from making messages too long.
const longestFence = 12

// quote formats a program's text in Markdown, shortened, with nothing in it that could end the quotation.
func quote(text []byte, most int) string {
	cut := ""
	if len(text) > most {
		for text = text[:most]; len(text) > 0 && !utf8.Valid(text[max(0, len(text)-utf8.UTFMax):]) && !utf8.RuneStart(text[len(text)-1]); {
			text = text[:len(text)-1]
		}
		cut = "…\n"
	}
	body := strings.ToValidUTF8(string(text), "\ufffd")
	if body != "" && !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	fence := "```"
	for strings.Contains(body, fence) {
		if len(fence) == longestFence {
			body = strings.ReplaceAll(body, fence, strings.Repeat("'", longestFence))
			break
		}
		fence += "`"
	}
	return fence + "\n" + body + cut + fence + "\n"
}

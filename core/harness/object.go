package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// object is one JSON object with unparsed values.
type object map[string]json.RawMessage

// parseObject reads exactly one JSON object. Unlike encoding/json it distinguishes the case of keys and refuses
// repeated keys.
func parseObject(raw []byte) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	start, err := dec.Token()
	if err == nil && start != json.Delim('{') {
		return nil, errors.New("is not a JSON object")
	}
	if err != nil {
		return nil, syntax(err)
	}
	members := object{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, syntax(err)
		}
		name, _ := key.(string) // the decoder accepts nothing else as a key
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("has the key %q twice", shorten(name, maxQuoted))
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, syntax(err)
		}
		members[name] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, syntax(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("has something after the JSON object")
	}
	return members, nil
}

// syntax explains a decoder's error for readers who have only the text.
func syntax(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("is not JSON: it ends too early")
	}
	var bad *json.SyntaxError
	if errors.As(err, &bad) {
		return fmt.Errorf("is not JSON: byte %d: %s", bad.Offset, bad.Error())
	}
	return fmt.Errorf("is not JSON: %s", shorten(err.Error(), maxQuoted))
}

// given reports whether the object has the key with a value other than null.
func (o object) given(key string) bool {
	raw, ok := o[key]
	return ok && !bytes.Equal(raw, []byte("null"))
}

// maxQuoted is how many characters of a foreign text a message quotes.
const maxQuoted = 40

// shorten cuts s after most characters and marks the cut.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	runes := 0
	for i := range s {
		if runes == most {
			return s[:i] + "…"
		}
		runes++
	}
	return s
}

// clean replaces invalid UTF-8 and every control character except tab and newline: these texts are shown on terminals
// and pages.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' {
			return r
		}
		if r < ' ' || (r >= 0x7f && r < 0xa0) {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(strings.ReplaceAll(s, "\r\n", "\n"), "\ufffd"))
}

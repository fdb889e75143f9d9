package cases

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"
	"go.yaml.in/yaml/v3"

	"drover/core"
	"drover/core/service/pattern"
)

// bad is something wrong at a line of the file.
type bad struct {
	line int
	text string
}

func (b *bad) Error() string { return fmt.Sprintf("%s, line %d: %s", File, b.line, b.text) }

func wrong(n *yaml.Node, format string, args ...any) error {
	return &bad{line: n.Line, text: fmt.Sprintf(format, args...)}
}

// document reads the file as one YAML mapping.
func document(text []byte) (*yaml.Node, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("%s is longer than %d bytes: put large inputs into files of their own", File, MaxSize)
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s is empty", File)
	case err != nil:
		return nil, fmt.Errorf("%s is not YAML: %s", File, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s holds more than one document", File)
	}
	left := MaxNodes
	if err := count(&doc, &left, 0); err != nil {
		return nil, err
	}
	return doc.Content[0], nil
}

// count walks the document as a reader of it would, so that aliases of aliases
// are found out before they cost anything.
func count(n *yaml.Node, left *int, depth int) error {
	const deepest = 30
	if *left--; *left < 0 || depth > deepest {
		return wrong(n, "the file is too large or too deep, perhaps by its aliases")
	}
	if n.Kind == yaml.AliasNode {
		return count(n.Alias, left, depth+1)
	}
	for _, c := range n.Content {
		if err := count(c, left, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// field reads the value of one key.
type field func(*yaml.Node) error

// mapping reads a mapping. A key that is not among the fields, or twice there, is refused.
func mapping(n *yaml.Node, what string, fields map[string]field) error {
	n = target(n)
	if n.Kind != yaml.MappingNode {
		return wrong(n, "%s must be a mapping, such as %s: …", what, slices.Min(slices.Collect(maps.Keys(fields))))
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read, known := fields[key.Value]
		if !known || key.Kind != yaml.ScalarNode {
			return wrong(key, "%s has no field %q; it has %s", what, shorten(key.Value), strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
		if first, twice := seen[key.Value]; twice {
			return wrong(key, "%q is given twice, in line %d before", key.Value, first)
		}
		seen[key.Value] = key.Line
		if isNull(value) {
			return wrong(value, "%q has no value", key.Value)
		}
		if err := read(value); err != nil {
			return err
		}
	}
	return nil
}

func target(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool {
	n = target(n)
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// list reads a sequence.
func list(most int, each field) field {
	return func(n *yaml.Node) error {
		n = target(n)
		if n.Kind != yaml.SequenceNode {
			return wrong(n, "this must be a list")
		}
		if len(n.Content) > most {
			return wrong(n, "this list has %d entries; %d are allowed", len(n.Content), most)
		}
		for _, c := range n.Content {
			if err := each(c); err != nil {
				return err
			}
		}
		return nil
	}
}

// scalar returns a single value as it is written. Numbers and truths are taken as
// texts where a text is wanted: what a program reads and prints is text.
func scalar(n *yaml.Node) (string, error) {
	n = target(n)
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" || n.ShortTag() == "!!binary" {
		return "", wrong(n, "this must be a single value")
	}
	return n.Value, nil
}

func text(into *string) field {
	return func(n *yaml.Node) error {
		s, err := scalar(n)
		if err == nil && len(s) > MaxInline {
			err = wrong(n, "this text has %d bytes; %d are allowed: put it into a file", len(s), MaxInline)
		}
		*into = s
		return err
	}
}

// name reads a short text for people.
func name(into *string) field {
	return func(n *yaml.Node) error {
		s, err := scalar(n)
		switch {
		case err != nil:
			return err
		case s == "" || len([]rune(s)) > MaxName || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }):
			return wrong(n, "a name is 1 to %d characters on one line", MaxName)
		}
		*into = s
		return nil
	}
}

func truth(into *bool) field {
	return func(n *yaml.Node) error {
		if target(n).ShortTag() != "!!bool" || target(n).Decode(into) != nil {
			return wrong(n, "this must be true or false")
		}
		return nil
	}
}

// number reads a number from least to most.
func number(into *float64, least, most float64) field {
	return func(n *yaml.Node) error {
		s, err := scalar(n)
		if err != nil {
			return err
		}
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(v) || v < least || v > most {
			return wrong(n, "%q must be a number from %g to %g", shorten(s), least, most)
		}
		*into = v
		return nil
	}
}

func integer(into *int, least, most int) field {
	return func(n *yaml.Node) error {
		s, err := scalar(n)
		if err != nil {
			return err
		}
		v, err := strconv.Atoi(s)
		if err != nil || v < least || v > most {
			return wrong(n, "%q must be a whole number from %d to %d", shorten(s), least, most)
		}
		*into = v
		return nil
	}
}

// span reads a time: 1.5s, 500ms, or a number of seconds.
func span(into *time.Duration) field {
	return func(n *yaml.Node) error {
		s, err := scalar(n)
		if err != nil {
			return err
		}
		d, err := time.ParseDuration(s)
		if seconds, perr := strconv.ParseFloat(s, 64); perr == nil && math.Abs(seconds) <= core.MaxTimeout.Seconds() {
			d, err = time.Duration(seconds*float64(time.Second)), nil
		}
		if err != nil || d < time.Millisecond || d > core.MaxTimeout {
			return wrong(n, "%q must be a time from 1ms to %s, such as 1.5s or 500ms", shorten(s), core.MaxTimeout)
		}
		*into = d
		return nil
	}
}

// size reads a number of bytes: 65536, 64K, 256M.
func size(into *int64) field {
	return func(n *yaml.Node) error {
		s, err := scalar(n)
		if err != nil {
			return err
		}
		v, err := units.RAMInBytes(s)
		if err != nil || v < 1 || v > 1<<50 {
			return wrong(n, "%q must be a size, such as 65536, 64K or 256M", shorten(s))
		}
		*into = v
		return nil
	}
}

func oneOf(into *string, words ...string) field {
	return func(n *yaml.Node) error {
		s, err := scalar(n)
		if err != nil {
			return err
		}
		if !slices.Contains(words, s) {
			return wrong(n, "%q must be one of %s", shorten(s), strings.Join(words, ", "))
		}
		*into = s
		return nil
	}
}

// command reads a text for the shell, or a list of words.
func command(into *Command) field {
	return func(n *yaml.Node) error {
		if target(n).Kind != yaml.SequenceNode {
			var line string
			if err := text(&line)(n); err != nil {
				return err
			}
			if strings.TrimSpace(line) == "" || strings.ContainsRune(line, 0) {
				return wrong(n, "this is no command")
			}
			*into = Command{"/bin/sh", "-c", line}
			return nil
		}
		var words Command
		if err := list(MaxArgs, func(n *yaml.Node) error { return word(n, &words) })(n); err != nil {
			return err
		}
		if len(words) == 0 || words[0] == "" {
			return wrong(n, "this command has no words")
		}
		*into = words
		return nil
	}
}

func word(n *yaml.Node, into *Command) error {
	s, err := scalar(n)
	if err == nil && (len(s) > 64<<10 || strings.ContainsRune(s, 0)) {
		err = wrong(n, "a word of a command has at most 64 KiB and no NUL byte")
	}
	*into = append(*into, s)
	return err
}

// commands reads one command, or a list of them. A list of texts is a list of commands.
func commands(into *[]Command) field {
	return func(n *yaml.Node) error {
		if target(n).Kind != yaml.SequenceNode {
			*into = make([]Command, 1)
			return command(&(*into)[0])(n)
		}
		return list(MaxCommands, func(n *yaml.Node) error {
			var c Command
			err := command(&c)(n)
			*into = append(*into, c)
			return err
		})(n)
	}
}

var envName = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// environment reads a mapping of names to texts.
func environment(into *[]string) field {
	return func(n *yaml.Node) error {
		m := target(n)
		if m.Kind != yaml.MappingNode || len(m.Content) > 2*100 {
			return wrong(n, "this must be a mapping NAME: value, of 100 names at most")
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			var value string
			if err := text(&value)(m.Content[i+1]); err != nil {
				return err
			}
			if !envName().MatchString(m.Content[i].Value) || strings.ContainsRune(value, 0) {
				return wrong(m.Content[i], "%q cannot be an environment variable", shorten(m.Content[i].Value))
			}
			*into = append(*into, m.Content[i].Value+"="+value)
		}
		return nil
	}
}

// shorten quotes little of a foreign text.
func shorten(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

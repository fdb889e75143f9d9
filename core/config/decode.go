package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"
)

// decode writes a layer's values over the present ones, each setting by itself, so that an error can name the setting
// and its source.
func (c *Config) decode(l layer) error {
	var problems []error
	v := reflect.ValueOf(c).Elem()
	for _, s := range Settings() {
		raw, given := l.values[s.Name]
		if !given || s.field < 0 {
			continue
		}
		c.sources[s.Name] = l.source(s)
		value, err := parse(s.Kind, raw)
		if err != nil {
			problems = append(problems, c.problem(s.Name, "%w", err))
			continue
		}
		field := v.Field(s.field)
		field.Set(reflect.ValueOf(value).Convert(field.Type()))
	}
	return errors.Join(problems...)
}

// parse converts a value from a file, the environment or a flag to the kind.
func parse(kind Kind, raw any) (any, error) {
	word, isText := raw.(string)
	if isText {
		word = strings.TrimSpace(word)
		return parseText(kind, word)
	}
	switch kind {
	case KindNumber, KindSize:
		if n, ok := raw.(int); ok {
			return n, nil
		}
	case KindList:
		if list, ok := raw.([]any); ok {
			return parseList(list)
		}
	case KindText, KindURL, KindDuration: // a bare number has no unit; a bare date or boolean lost its spelling
	}
	return nil, shape(kind, raw)
}

func parseText(kind Kind, word string) (value any, err error) {
	switch kind {
	case KindText, KindURL:
		return word, nil
	case KindNumber:
		value, err = strconv.Atoi(word)
	case KindSize:
		value, err = units.RAMInBytes(word)
	case KindDuration:
		value, err = time.ParseDuration(word)
	case KindList:
		list := strings.Split(word, ",")
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
		return list, nil
	}
	if err != nil {
		return nil, shape(kind, word)
	}
	return value, nil
}

func parseList(list []any) ([]string, error) {
	words := make([]string, len(list))
	for i, item := range list {
		word, ok := item.(string)
		if !ok {
			return nil, shape(KindList, list)
		}
		words[i] = word
	}
	return words, nil
}

// shape returns what is wrong with the format of a value. A URL is not quoted: it may hold a password.
func shape(kind Kind, raw any) error {
	want := map[Kind]string{
		KindText:     "it must be one text; put it in quotes",
		KindURL:      "it must be one text; put it in quotes",
		KindNumber:   "it must be a whole number, such as 3",
		KindSize:     "it must be a size, such as 512MiB",
		KindDuration: "it must be a time with its unit, such as 5s, 200ms or 1h",
		KindList:     "it must be a list of words, such as [a, b] or a,b",
	}[kind]
	if kind == KindURL {
		return errors.New(want)
	}
	return fmt.Errorf("%q is not right here: %s", fmt.Sprint(raw), want)
}

// text formats a value as in the file.
func text(v reflect.Value) string {
	if list, ok := v.Interface().([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(v.Interface())
}

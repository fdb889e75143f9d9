package config

import (
	"net/url"
	"reflect"
	"strings"

	"github.com/docker/go-units"
)

// Size is a number of bytes.
type Size int64

// String writes a size as the file would: 64MiB.
func (s Size) String() string { return units.BytesSize(float64(s)) }

// URL is a URL that may hold a password. Printing it hides that; Reveal shows it.
type URL string

// Reveal returns the URL with its password, for the library that connects.
func (u URL) Reveal() string { return string(u) }

// hidden stands for what is not shown.
const hidden = "xxxxx"

// String returns the URL with all passwords hidden.
func (u URL) String() string {
	if m, is := u.mongo(); is {
		return m.redacted()
	}
	parsed, err := url.Parse(string(u))
	if err != nil {
		return "a URL that cannot be read"
	}
	query := parsed.Query()
	for key := range query {
		if secretWord(key) {
			query.Set(key, hidden)
		}
	}
	if len(query) > 0 {
		parsed.RawQuery = query.Encode()
	}
	return parsed.Redacted()
}

// MarshalText hides passwords from encoders, as String does from printers.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

func secretWord(key string) bool {
	key = strings.ToLower(key)
	for _, word := range []string{"pass", "secret", "token", "key", "credential"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}

// Value is one setting as doctor and the log may show it.
type Value struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source Source `json:"source"`
}

// Redacted lists every setting with its value and source, passwords hidden.
func (c *Config) Redacted() []Value {
	values := []Value{{Name: FileSetting, Value: c.file, Source: c.Source(FileSetting)}}
	v := reflect.ValueOf(c).Elem()
	for _, s := range Settings() {
		if s.field >= 0 {
			values = append(values, Value{Name: s.Name, Value: text(v.Field(s.field)), Source: c.Source(s.Name)})
		}
	}
	return values
}

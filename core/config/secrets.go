package config

import (
	"reflect"
	"slices"
	"strings"
)

// secretFile ends the names of settings that name a file with a secret; these have other names.
const secretFile = "_file"

var otherSecretFiles = []string{"tls_key", "host_config"}

// SecretPaths returns the files with secrets that the settings name, by setting.
func (c *Config) SecretPaths() map[string]string {
	paths := map[string]string{}
	for _, v := range c.Redacted() {
		if v.Value != "" && (strings.HasSuffix(v.Name, secretFile) || slices.Contains(otherSecretFiles, v.Name)) {
			paths[v.Name] = v.Value
		}
	}
	return paths
}

// PasswordsInFile returns the settings whose URL in the one file of settings has a password.
func (c *Config) PasswordsInFile() []string { return c.inFile }

// findPasswords finds them, before the passwords of other files are in the URLs, too.
func (c *Config) findPasswords() {
	v := reflect.ValueOf(c).Elem()
	for _, s := range Settings() {
		if s.Kind != KindURL || c.Source(s.Name) != Source("file "+c.file) {
			continue
		}
		if at, is := v.Field(s.field).Interface().(URL); is && strings.Contains(at.String(), hidden) {
			c.inFile = append(c.inFile, s.Name)
		}
	}
}

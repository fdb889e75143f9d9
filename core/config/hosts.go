package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"

	"drover/core"
)

// AWSCredentials is in a file of settings for hosts, beside settings: it names a file of the form of
// ~/.aws/credentials, by which hosts reach a bucket.
const AWSCredentials = "aws_credentials_file"

// SecretFiles returns the names in a file of settings for hosts that name files which are handed out with it.
func SecretFiles() []string {
	return []string{"redis_password_file", "sentinel_password_file", "store_password_file", AWSCredentials}
}

// Bounds of what is handed out to hosts, in bytes.
const (
	maxHostsFile  = 64 << 10
	maxSecretFile = 16 << 10
)

// ForHosts returns the settings that a host of the cluster reads, except those that differ from host to host.
func ForHosts() []Setting {
	return slices.DeleteFunc(For("vmfactory", "testrunner"), func(s Setting) bool { return s.field < 0 || s.Name == "host" })
}

// ReadForHosts reads a file of settings for hosts: the values, by their names, and the contents of files that hold
// secrets, by the names of the settings that name them. Returns INVALID.
func ReadForHosts(path string) (values, secrets map[string]string, err error) {
	raw, err := readBounded(path, maxHostsFile)
	if err != nil {
		return nil, nil, err
	}
	given, err := yaml.Parser().Unmarshal(raw)
	if err != nil {
		return nil, nil, core.Wrap(err, core.CodeInvalid, path, "the settings for hosts in %s cannot be read: the file must be YAML, one \"name: value\" a line", path)
	}
	values, secrets = map[string]string{}, map[string]string{}
	for name, value := range given {
		if slices.Contains(SecretFiles(), name) {
			text, err := readBounded(fmt.Sprint(value), maxSecretFile)
			if err != nil {
				return nil, nil, err
			}
			secrets[name] = string(text)
			continue
		}
		if values[name], err = forHosts(path, name, value); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range []string{"redis", "store", "blobs"} {
		if values[name] == "" {
			return nil, nil, core.Errorf(core.CodeInvalid, name, "the settings for hosts in %s have no %s: hosts cannot work without it", path, name)
		}
	}
	return values, secrets, nil
}

// forHosts returns a setting's value as text. It quotes no value, since it may be a secret.
func forHosts(path, name string, value any) (string, error) {
	all := ForHosts()
	i := slices.IndexFunc(all, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return "", core.Errorf(core.CodeInvalid, name, "the settings for hosts in %s: hosts read no setting %q; they read %s", path, name, strings.Join(append(namesOf(all), AWSCredentials), ", "))
	}
	if _, err := parse(all[i].Kind, value); err != nil {
		return "", core.Errorf(core.CodeInvalid, name, "the settings for hosts in %s: %s has a value that is none of its kind (%s)", path, name, all[i].Kind)
	}
	if list, ok := value.([]any); ok {
		words, err := parseList(list)
		return strings.Join(words, ","), err
	}
	return fmt.Sprint(value), nil
}

func namesOf(all []Setting) []string {
	names := map[string]bool{}
	for _, s := range all {
		names[s.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// readBounded reads a small file that an operator names.
func readBounded(path string, most int64) ([]byte, error) {
	at, err := os.Stat(path)
	if err == nil && at.Size() > most {
		return nil, core.Errorf(core.CodeInvalid, path, "%s has %d bytes, more than %d", path, at.Size(), most)
	}
	raw, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, path, "%s, which hosts are to get (setting host_config), cannot be read: name a file that the site's user may read", path)
	}
	return raw, nil
}

package join

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/account/secrets"
	"drover/core/cluster/join"
	"drover/core/config"
)

// place is where a host's settings are kept, and who gave them.
type place struct {
	file string
	site string
}

// mark begins the settings that this command wrote. The host and the site follow.
const mark = "# Written by drover join: host "

// awsFile names the file with the keys of a bucket to those who open it.
const awsFile = "AWS_SHARED_CREDENTIALS_FILE"

// keyFile is where the machine keeps the key by which it may ask again.
const keyFile = "join-key"

// beside is the file for the secret that a setting names, beside the settings.
func (p place) beside(setting string) string {
	return filepath.Join(filepath.Dir(p.file), strings.ReplaceAll(strings.TrimSuffix(setting, "_file"), "_", "-"))
}

// look returns as which host this machine joined before; "" if it did not. Returns CONFLICT if there are settings of
// somebody else.
func (p place) look(replace bool) (host string, err error) {
	f, err := os.Open(p.file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", core.Wrap(err, core.CodeInvalid, p.file, "the settings in %s cannot be read: run this as their owner", p.file)
	}
	defer f.Close() //nolint:errcheck // only read from
	line, err := bufio.NewReaderSize(f, 4<<10).ReadSlice('\n')
	if err != nil && len(line) == 0 {
		line = nil
	}
	if replace {
		return "", nil
	}
	host, site, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(line)), mark), " of ")
	switch {
	case !bytes.HasPrefix(line, []byte(mark)) || !ok:
		return "", core.Errorf(core.CodeConflict, p.file, "there are settings in %s already, which drover join did not write: is this a host already? Move them away, or use --replace", p.file)
	case site != p.site:
		return "", core.Errorf(core.CodeConflict, p.file, "this machine is host %.80q of the cluster of %.200q already, by %s: use --replace to leave that", host, site, p.file)
	}
	return host, nil
}

// key returns the machine's key, and makes it first if there is none.
func (p place) key() (string, error) {
	if err := os.MkdirAll(filepath.Dir(p.file), 0o700); err != nil {
		return "", core.Wrap(err, core.CodeUnavailable, p.file, "the folder of %s cannot be made", p.file)
	}
	at := filepath.Join(filepath.Dir(p.file), keyFile)
	raw, err := os.ReadFile(at)
	if key := strings.TrimSpace(string(raw)); err == nil && key != "" {
		return key, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", core.Wrap(err, core.CodeUnavailable, at, "the key of this machine cannot be read from %s", at)
	}
	key := secrets.New("")
	return key, writeWhole(at, key+"\n")
}

// write writes the secrets and then the settings, whose name shows that all is there. The key is of no more use.
func (p place) write(got join.Grant) error {
	text := strings.Builder{}
	fmt.Fprintf(&text, "%s%s of %s\nhost: %s\n", mark, got.Host, p.site, got.Host)
	reads := config.ForHosts()
	for _, name := range slices.Sorted(maps.Keys(got.Settings.Values)) {
		if slices.ContainsFunc(reads, func(s config.Setting) bool { return s.Name == name }) { // a newer site may know more
			fmt.Fprintf(&text, "%s: %s\n", name, strconv.Quote(got.Settings.Values[name]))
		}
	}
	for _, name := range config.SecretFiles() {
		secret, ok := got.Settings.Secrets[name]
		if !ok {
			continue
		}
		if err := writeWhole(p.beside(name), secret); err != nil {
			return err
		}
		if name != config.AWSCredentials {
			fmt.Fprintf(&text, "%s: %s\n", name, strconv.Quote(p.beside(name)))
		}
	}
	if err := writeWhole(p.file, text.String()); err != nil {
		return err
	}
	err := os.Remove(filepath.Join(filepath.Dir(p.file), keyFile))
	return core.Wrap(err, core.CodeUnavailable, p.file, "the key of this machine cannot be removed")
}

// writeWhole writes a file for this user only: all of it, or nothing.
func writeWhole(path, text string) (err error) {
	defer func() {
		err = core.Wrap(err, core.CodeUnavailable, path, "%s cannot be written: run this as a user who may, or name another place with --config", path)
	}()
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-") // its mode is 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// section is the host as a program of supervisord; see scripts/drover.conf for the reasons.
const section = `; Written by drover join.
[program:drover-host]
command="%s" host run --config "%s"%s
priority=10
autorestart=true
startsecs=3
startretries=1000000
stopsignal=TERM
stopwaitsecs=105
`

// supervise writes the section for supervisord.
func (p place) supervise(c *cli.Context, at string) error {
	program, err := os.Executable()
	if err != nil {
		return core.Wrap(err, core.CodeUnavailable, "", "this program's file cannot be found")
	}
	environment := ""
	if aws := p.beside(config.AWSCredentials); exists(aws) {
		environment = fmt.Sprintf("\nenvironment=%s=\"%s\"", awsFile, aws)
	}
	quote := strings.NewReplacer("%", "%%", `"`, `\"`)
	if err := writeWhole(at, fmt.Sprintf(section, quote.Replace(program), quote.Replace(p.file), environment)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "supervisord runs the host after: supervisorctl update\n")
	return err
}

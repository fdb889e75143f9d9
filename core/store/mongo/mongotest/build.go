package mongotest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// build returns the path of the server, which it builds unless this very source was built on
// this machine before. Packages under test share it.
func build() (string, error) {
	module, err := output("env", "GOMOD")
	if err != nil {
		return "", err
	}
	source := filepath.Join(filepath.Dir(module), "scripts", "ferretdb")
	key, err := digest(source)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "drover")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "ferretdb.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil { // until it is closed
		return "", err
	}
	program := filepath.Join(dir, "ferretdb-"+key)
	if _, err := os.Stat(program); !errors.Is(err, fs.ErrNotExist) {
		return program, err
	}
	if err := forget(dir); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	if err := compile(source, fresh); err != nil {
		return "", err
	}
	return program, os.Rename(filepath.Join(fresh, "ferretdb"), program)
}

const ferretdb = "github.com/FerretDB/FerretDB"

// changes are made to a copy of FerretDB 1 that the server is built from, for speed; what it
// answers stays the same.
var changes = []struct{ file, from, to string }{
	// It asks SQLite for the document of an _id only where that is the whole question, and else
	// reads the collection; it looks at the other conditions afterwards in any case.
	{"internal/backends/sqlite/collection.go", "params.Filter.Len() == 1", "params.Filter.Len() > 0"},
	// Nor does it ask for less where other fields are to equal a string: whatever does not hold
	// the string at all is left out, before it is parsed.
	{
		"internal/backends/sqlite/collection.go", "\tq += whereClause\n", `
	for _, key := range params.Filter.Keys() {
		if text, is := must.NotFail(params.Filter.Get(key)).(string); is && !strings.HasPrefix(key, "$") {
			word := " AND"
			if whereClause == "" {
				word = " WHERE"
			}
			whereClause += word + " instr(" + metadata.DefaultColumn + ", ?) > 0"
			args = append(args, string(must.NotFail(sjson.MarshalSingleValue(text))))
		}
	}
	q += whereClause
`,
	},
	// It has SQLite keep indexes that it never asks for anything: each write parses the document
	// once for each of them. Those that are not unique are there now, and empty.
	{
		"internal/backends/sqlite/metadata/registry.go", `q += "INDEX %q ON %q (%s)"`,
		`q += "INDEX %q ON %q (%s)"; if !index.Unique { q += " WHERE false" }`,
	},
	// It notes the stack of who makes an iterator, to find those that nobody closed.
	{"internal/util/resource/resource.go", "token *Token) {\n\tcheckArgs", "token *Token) {\n\treturn; checkArgs"},
}

// compile builds the server in a folder.
func compile(source, dir string) error {
	if _, err := output("-C", source, "mod", "download"); err != nil {
		return err
	}
	module, err := output("-C", source, "list", "-m", "-f", "{{.Dir}}", ferretdb)
	if err != nil {
		return err
	}
	copied := filepath.Join(dir, "module")
	if err := os.CopyFS(copied, os.DirFS(module)); err != nil {
		return err
	}
	if err := change(copied); err != nil {
		return err
	}
	mod := filepath.Join(dir, "go.mod")
	for from, to := range map[string]string{"go.mod": mod, "go.sum": filepath.Join(dir, "go.sum")} {
		text, err := os.ReadFile(filepath.Join(source, from))
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return err
		}
	}
	if _, err := output("mod", "edit", "-replace", ferretdb+"="+copied, mod); err != nil {
		return err
	}
	_, err = output("-C", source, "build", "-modfile", mod, "-o", filepath.Join(dir, "ferretdb"), ".")
	return err
}

// change makes the changes to a copy of FerretDB.
func change(copied string) error {
	for _, c := range changes {
		path := filepath.Join(copied, filepath.FromSlash(c.file))
		text, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			return err
		}
		better := strings.ReplaceAll(string(text), c.from, c.to)
		if better == string(text) {
			return fmt.Errorf("%s of %s does not say %q any more", c.file, ferretdb, c.from)
		}
		if err := os.Remove(path); err != nil { // it is read-only
			return err
		}
		if err := os.WriteFile(path, []byte(better), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// forget removes servers of former sources that nobody can be using any more.
func forget(dir string) error {
	older, err := filepath.Glob(filepath.Join(dir, "ferretdb-*"))
	for _, path := range older {
		about, failed := os.Stat(path)
		if failed == nil && time.Since(about.ModTime()) > 24*time.Hour {
			failed = os.Remove(path)
		}
		err = errors.Join(err, failed)
	}
	return err
}

// digest names the source of the server, and what builds it.
func digest(source string) (string, error) {
	all := sha256.New()
	fmt.Fprintln(all, runtime.Version(), changes)
	files, err := filepath.Glob(filepath.Join(source, "*"))
	for _, path := range files {
		text, failed := os.ReadFile(filepath.Clean(path))
		err = errors.Join(err, failed)
		fmt.Fprintln(all, filepath.Base(path), len(text))
		all.Write(text)
	}
	return hex.EncodeToString(all.Sum(nil)[:8]), err
}

// output runs go and returns what it printed, without the last line's end.
func output(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, failed.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

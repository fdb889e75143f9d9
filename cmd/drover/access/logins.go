package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"

	"drover/core"
)

// maxLogins bounds the file of logins.
const maxLogins = 1 << 20

// Login is a site where a user is signed in.
type Login struct {
	Server   string `json:"server"` // as client.Site writes it
	User     string `json:"user"`
	Token    string `json:"token"`
	ID       string `json:"id,omitempty"`            // of the token, as in its user's list
	Issued   bool   `json:"issued,omitempty"`        // by drover login itself
	Insecure bool   `json:"insecure_http,omitempty"` // by http, which can be intercepted
}

// Logins is the file of all logins of a user, readable by nobody else.
type Logins string

// Read returns all logins, in order of server.
func (f Logins) Read() ([]Login, error) {
	if f == "" {
		return nil, nil
	}
	in, err := os.Open(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, f.unusable(err)
	}
	defer in.Close() //nolint:errcheck // only read from
	info, err := in.Stat()
	if err != nil {
		return nil, f.unusable(err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return nil, core.Errorf(core.CodeInvalid, "logins", "others than you may use the tokens in %s: make it yours alone with chmod 600 %s, and make new tokens", f, f)
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxLogins))
	if err != nil {
		return nil, f.unusable(err)
	}
	var all []Login
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, "logins", "the logins in %s cannot be read: remove the file and sign in again", f)
	}
	return all, nil
}

// Put stores a login in place of the server's earlier one, and returns that; nil for none.
func (f Logins) Put(l Login) (before *Login, err error) {
	err = f.change(func(all []Login) []Login {
		if i := slices.IndexFunc(all, func(one Login) bool { return one.Server == l.Server }); i >= 0 {
			earlier := all[i]
			before = &earlier
		}
		return append(without(all, l.Server), l)
	})
	return before, err
}

// Forget removes the login of a server.
func (f Logins) Forget(server string) error {
	return f.change(func(all []Login) []Login { return without(all, server) })
}

func without(all []Login, server string) []Login {
	return slices.DeleteFunc(all, func(l Login) bool { return l.Server == server })
}

// change rewrites the file atomically, one process at a time.
func (f Logins) change(how func([]Login) []Login) error {
	if f == "" {
		return core.Errorf(core.CodeInvalid, "logins", "there is no home folder to keep logins in: name a file with --logins or DROVER_LOGINS")
	}
	dir := filepath.Dir(string(f))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return f.unusable(err)
	}
	lock := flock.New(string(f)+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return f.unusable(err)
	}
	defer lock.Unlock() //nolint:errcheck // it ends with the process anyway
	all, err := f.Read()
	if err != nil {
		return err
	}
	all = how(all)
	slices.SortFunc(all, func(a, b Login) int { return bytes.Compare([]byte(a.Server), []byte(b.Server)) })
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return f.unusable(err)
	}
	part, err := os.CreateTemp(dir, ".logins-*") // of mode 0600
	if err != nil {
		return f.unusable(err)
	}
	_, err = part.Write(append(raw, '\n'))
	err = errors.Join(err, part.Sync(), part.Close())
	if err == nil {
		err = os.Rename(part.Name(), string(f))
	}
	if err != nil {
		return f.unusable(errors.Join(err, os.Remove(part.Name())))
	}
	return nil
}

func (f Logins) unusable(err error) error {
	return core.Wrap(err, core.CodeInvalid, "logins", "the file of logins %s cannot be used", f)
}

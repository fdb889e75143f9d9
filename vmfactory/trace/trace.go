// Package trace is what VMs of every provider have on their host: a folder
// <run>/<vm> with who the VM is and its secret, the descriptors that its first
// process gets, a place of its own, and an agent that can be asked. A VM's folder
// is the first and the last thing there is of it.
package trace

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"drover/core"
	"drover/core/agent"
)

// RecordFile holds who a VM is, in its folder.
const RecordFile = "vm.json"

// MakingPrefix starts the name of a folder that is not a VM yet, or no more.
const MakingPrefix = ".making-"

// Record is who a VM is: what Create knows of it.
type Record struct {
	VM       string    `json:"vm"`
	Provider string    `json:"provider"`
	Pool     core.Pool `json:"pool"`
	Image    string    `json:"image"`
	Made     int64     `json:"made_ms"` // ms since 1970
	Place    int       `json:"place"`   // which of the host's users it has
}

// Set is the folders of one provider's VMs.
type Set struct {
	Run      string // the host's run folder
	Provider string // its name

	Places *Places           // nil before Sweep
	Step   func(name string) // is called with how far a VM is: tests die there
}

// Path is a VM's folder, whether it is there or not.
func (s Set) Path(id string) string { return filepath.Join(s.Run, id) }

// Keep makes the folder of a VM, all of it or nothing.
func (s Set) Keep(r Record) error {
	tmp, err := os.MkdirTemp(s.Run, MakingPrefix+r.VM+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // swept at the next start; gone already if all went well
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, agent.SecretFile), []byte(hex.EncodeToString(secret)), 0o600); err != nil {
		return err
	}
	if err := WriteJSON(filepath.Join(tmp, RecordFile), r); err != nil {
		return err
	}
	err = os.Rename(tmp, s.Path(r.VM))
	if errors.Is(err, fs.ErrExist) {
		return core.Errorf(core.CodeConflict, r.VM, "VM %s is on this host already", r.VM)
	}
	return err
}

// Read returns the record of a VM. Returns NOTFOUND if there is none.
func (s Set) Read(id string) (Record, error) {
	var r Record
	if err := core.CheckName("VM", id); err != nil {
		return r, err
	}
	err := ReadJSON(filepath.Join(s.Path(id), RecordFile), &r)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, core.Errorf(core.CodeNotFound, id, "there is no VM %s on this host", id)
	case err != nil:
		return r, core.Wrap(err, core.CodeBadVM, id, "the record of VM %s cannot be read", id)
	case r.Provider != s.Provider || r.VM != id:
		return r, core.Errorf(core.CodeBadVM, id, "the record in the folder of VM %s is of VM %s of provider %s", id, r.VM, r.Provider)
	}
	return r, nil
}

// Foreign reports whether a folder is of another provider's VM.
func (s Set) Foreign(id string) bool {
	var r Record
	err := ReadJSON(filepath.Join(s.Path(id), RecordFile), &r)
	return err == nil && r.Provider != s.Provider
}

// Found lists the VMs that have a folder, readable or not, but for those of other
// providers.
func (s Set) Found() ([]string, error) {
	entries, err := os.ReadDir(s.Run)
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "the run folder cannot be read")
	}
	var ids []string
	for _, e := range entries {
		if !e.IsDir() || !core.ValidName(e.Name()) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(s.Run, e.Name(), RecordFile)); err == nil && !s.Foreign(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

// unname makes the folder of a VM that is no more one of nobody, to be removed, in
// one step: what a kill leaves in the midst of removing it is not taken for a VM,
// and goes with Sweep. Returns "" if there is none.
func (s Set) unname(id string) (string, error) {
	as := filepath.Join(s.Run, MakingPrefix+id+"-"+rand.Text())
	err := os.Rename(s.Path(id), as)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return as, err
}

// Sweep removes what a killed Create, or the end of a VM, left a minute ago or earlier, and learns
// at first which places the VMs that are there have.
func (s *Set) Sweep() error {
	entries, err := os.ReadDir(s.Run)
	if err != nil {
		return err
	}
	var all error
	for _, e := range entries {
		folder := filepath.Join(s.Run, e.Name())
		if e.IsDir() && strings.HasPrefix(e.Name(), MakingPrefix) && Abandoned(folder) {
			all = errors.Join(all, os.RemoveAll(folder))
		}
	}
	if all == nil && s.Places == nil {
		s.Places, all = s.places()
	}
	return all
}

// WriteJSON writes a file that only its owner reads, all of it or nothing.
func WriteJSON(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// ReadJSON reads such a file.
func ReadJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// Abandoned tells folders that were left by the dead from those that somebody
// is at work on.
func Abandoned(folder string) bool {
	info, err := os.Stat(folder)
	return err == nil && time.Since(info.ModTime()) > time.Minute
}

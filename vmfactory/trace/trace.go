// Package trace keeps the trace that VMs of every provider have on their host: a folder <run>/<vm> with the VM's
// record and secret, the descriptors of its first process, and its place. A VM's folder is the first thing that is
// made of it and the last that is removed.
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
	"drover/vmfactory/cores"
	"drover/vmfactory/process"
)

// RecordFile has the record of a VM, in its folder.
const RecordFile = "vm.json"

// MakingPrefix starts the names of folders that are being made or removed.
const MakingPrefix = ".making-"

// Record describes a VM when it is created.
type Record struct {
	VM       string    `json:"vm"`
	Provider string    `json:"provider"`
	Pool     core.Pool `json:"pool"`
	Image    string    `json:"image"`
	Made     int64     `json:"made_ms"`         // ms since 1970
	Place    int       `json:"place"`           // number of its users on the host
	Cores    []int     `json:"cores,omitempty"` // processors on which it runs; none: on any
}

// Set is the folders of one provider's VMs.
type Set struct {
	Run      string // the host's run folder
	Provider string // its name

	Places *Places           // nil before Sweep
	Cores  *cores.Host       // nil: none are given away
	CPUs   float64           // processors of a VM whose pool does not say
	Step   func(name string) // called at each step, for tests that die there
}

// Path returns a VM's folder, whether it exists or not.
func (s Set) Path(id string) string { return filepath.Join(s.Run, id) }

// Keep makes the folder of a VM atomically.
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

// Found lists the VMs that have a folder, readable or not, except those of other providers.
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

// unname renames the folder of a dead VM, to be removed: if the removal is interrupted, the rest is not taken for a
// VM, and Sweep removes it. Returns "" if there is no folder.
func (s Set) unname(id string) (string, error) {
	as := filepath.Join(s.Run, MakingPrefix+id+"-"+rand.Text())
	err := os.Rename(s.Path(id), as)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return as, err
}

// Sweep removes folders that a killed Create or Destroy left at least a minute ago. Its first call reads the places
// of the existing VMs.
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

// WriteJSON writes a file that only its owner can read, atomically.
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
	text, err := process.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// Abandoned distinguishes folders left by dead processes from those that a process is working on.
func Abandoned(folder string) bool {
	info, err := os.Stat(folder)
	return err == nil && time.Since(info.ModTime()) > time.Minute
}

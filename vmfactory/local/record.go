package local

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"drover/core"
	"drover/core/guest"
)

// Files of a VM's folder, beside those that package guest names.
const (
	recordFile = "vm.json"
	initFile   = "init.json"
	logFile    = "agent.log"
)

// makingPrefix starts the name of a folder that is not a VM yet.
const makingPrefix = ".making-"

// record is who a VM is: what Create knows of it.
type record struct {
	VM       string    `json:"vm"`
	Provider string    `json:"provider"`
	Pool     core.Pool `json:"pool"`
	Image    string    `json:"image"`
	Made     int64     `json:"made_ms"` // ms since 1970
	Place    int       `json:"place"`   // which of the host's users it has
}

// folder is a VM's folder on the host.
func (p *Provider) folder(id string) string { return filepath.Join(p.cfg.Run, id) }

// keep makes the folder of a VM, all of it or nothing.
func (p *Provider) keep(r record) error {
	tmp, err := os.MkdirTemp(p.cfg.Run, makingPrefix+r.VM+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // swept at the next start; gone already if all went well
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, guest.SecretFile), []byte(hex.EncodeToString(secret)), 0o600); err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(tmp, recordFile), r); err != nil {
		return err
	}
	err = os.Rename(tmp, p.folder(r.VM))
	if errors.Is(err, fs.ErrExist) {
		return core.Errorf(core.CodeConflict, r.VM, "VM %s is on this host already", r.VM)
	}
	return err
}

// read returns the record of a VM. Returns NOTFOUND if there is none.
func (p *Provider) read(id string) (record, error) {
	var r record
	if err := core.CheckName("VM", id); err != nil {
		return r, err
	}
	err := readJSON(filepath.Join(p.folder(id), recordFile), &r)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, core.Errorf(core.CodeNotFound, id, "there is no VM %s on this host", id)
	case err != nil:
		return r, core.Wrap(err, core.CodeBadVM, id, "the record of VM %s cannot be read", id)
	case r.Provider != Name || r.VM != id:
		return r, core.Errorf(core.CodeBadVM, id, "the record in the folder of VM %s is of VM %s of provider %s", id, r.VM, r.Provider)
	}
	return r, nil
}

// found lists the VMs that have a folder, readable or not.
func (p *Provider) found() ([]string, error) {
	entries, err := os.ReadDir(p.cfg.Run)
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "the run folder cannot be read")
	}
	var ids []string
	for _, e := range entries {
		if !e.IsDir() || !core.ValidName(e.Name()) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(p.cfg.Run, e.Name(), recordFile)); err == nil {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

// sweepFolders removes what a killed Create left.
func (p *Provider) sweepFolders() error {
	entries, err := os.ReadDir(p.cfg.Run)
	if err != nil {
		return err
	}
	var all error
	for _, e := range entries {
		folder := filepath.Join(p.cfg.Run, e.Name())
		if e.IsDir() && strings.HasPrefix(e.Name(), makingPrefix) && abandoned(folder) {
			all = errors.Join(all, os.RemoveAll(folder))
		}
	}
	return all
}

// writeJSON writes a file that only its owner reads, all of it or nothing.
func writeJSON(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func readJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

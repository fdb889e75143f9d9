package neighbour

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/service"
)

// Note identifies the process of an owner.
type Note struct {
	Owner   string `json:"owner"`
	Epoch   int64  `json:"epoch"`
	PID     int    `json:"pid"`
	Started uint64 `json:"started"` // start time in clock ticks since boot: no two processes have the same number and start
	Space   string `json:"space"`   // its pid namespace
	Boot    string `json:"boot"`    // of the host: numbers and starts repeat after another boot
}

// maxNote bounds the bytes that are read of a note.
const maxNote = 4 << 10

// path is the note's file. Each epoch has its own, so that removing an old note never removes a new one.
func (n Note) path(dir string) string {
	return filepath.Join(dir, n.Owner+"."+strconv.FormatInt(n.Epoch, 10))
}

// mine makes the note of this process.
func mine(owner string, epoch int64) (Note, error) {
	started, err := startOf(os.Getpid())
	if err != nil {
		return Note{}, err
	}
	space, err := ownSpace()
	if err != nil {
		return Note{}, err
	}
	boot, err := bootOf()
	return Note{Owner: owner, Epoch: epoch, PID: os.Getpid(), Started: started, Space: space, Boot: boot}, err
}

// write leaves the note, whole or not at all, and removes those of the owner's former epochs.
func (n Note) write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return core.Wrap(err, core.CodeUnavailable, dir, "the folder %s for notes to neighbours cannot be made", dir)
	}
	text, err := json.Marshal(n)
	if err != nil {
		return core.Wrap(err, core.CodeInternal, n.Owner, "the note of %s cannot be written as JSON", n.Owner)
	}
	// A name that readers skip, unique for the process and epoch.
	part := filepath.Join(dir, "."+filepath.Base(n.path(dir)))
	err = os.WriteFile(part, text, 0o600)
	if err == nil {
		err = os.Rename(part, n.path(dir))
	}
	if err != nil {
		return core.Wrap(err, core.CodeUnavailable, dir, "the note of %s cannot be written to %s", n.Owner, dir)
	}
	notes, _, err := list(dir)
	for _, old := range notes {
		if old.Owner == n.Owner && old.Epoch < n.Epoch {
			old.remove(dir)
		}
	}
	return err
}

// remove deletes the note, if it is still there.
func (n Note) remove(dir string) {
	_ = os.Remove(n.path(dir)) // a note that stays is looked at again
}

// list reads the notes in dir. It leaves out other files, and notes that are being written. whole is
// false if it could not read all notes.
func list(dir string) (notes []Note, whole bool, err error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, core.Wrap(err, core.CodeUnavailable, dir, "the notes in %s cannot be listed", dir)
	}
	whole = true
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxNote || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			whole = false
			continue
		}
		var n Note
		if json.Unmarshal(text, &n) != nil || filepath.Base(n.path(dir)) != e.Name() || n.PID < 1 {
			continue
		}
		notes = append(notes, n)
	}
	return notes, whole, nil
}

// startOf returns when a process started, in clock ticks since boot.
func startOf(pid int) (uint64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	return service.StartTime(text)
}

// ownSpace names this process's pid namespace.
func ownSpace() (string, error) { return os.Readlink("/proc/self/ns/pid") }

// bootOf names the current boot of this host's kernel.
func bootOf() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
}

// Process identifies this process uniquely for all time: by its host's boot, its pid namespace, its number and its
// start. It returns "" if any of these cannot be read.
func Process() string {
	n, err := mine("", 0)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s:%s:%d:%d", n.Boot, n.Space, n.PID, n.Started)
}

package school

import (
	"cmp"

	"drover/core"
)

// RosterImport records what an import of a roster into a class is to change, so that it can be undone. A class has
// the record of its last import; it is written before the first change.
type RosterImport struct {
	Class    string        `json:"class"`
	ID       string        `json:"id"`
	By       string        `json:"by"` // who imported
	At       int64         `json:"at_ms"`
	Undone   int64         `json:"undone_ms,omitempty"` // 0: it stands
	Rows     []ImportedRow `json:"rows"`
	Revision int64         `json:"revision"`
}

// ImportedRow is what an import changes of one user.
type ImportedRow struct {
	User       string        `json:"user"`
	Created    bool          `json:"created,omitempty"` // the user was made by the import
	Role       core.UserRole `json:"role"`
	OldRole    core.UserRole `json:"old_role,omitempty"` // before the import; "": was not in the class
	Section    string        `json:"section,omitempty"`
	OldSection string        `json:"old_section,omitempty"`
	Renamed    bool          `json:"renamed,omitempty"`
	Name       string        `json:"name,omitempty"` // of a renamed user
	OldName    string        `json:"old_name,omitempty"`
}

// MaxImportedRows bounds the rows of one import.
const MaxImportedRows = 10_000

// Check returns INVALID or LIMIT.
func (i RosterImport) Check() error {
	if len(i.Rows) > MaxImportedRows {
		return core.Errorf(core.CodeLimit, i.Class, "an import changes %d users, at most %d are allowed", len(i.Rows), MaxImportedRows)
	}
	for _, row := range i.Rows {
		if err := (Enrolment{Class: i.Class, User: row.User, Role: row.Role}).Check(); err != nil {
			return err
		}
	}
	return cmp.Or(core.CheckNames("class", i.Class, "import", i.ID, "user", i.By), core.CheckTimes(i.ID, i.At, i.Undone))
}

// NoRosterImport refuses to find the last import of a class that had none.
var NoRosterImport = core.Refuse(core.CodeNotFound, "no roster was imported into class %s")

// WayIn says how a user can sign in, and what bars an invitation.
type WayIn struct {
	User       string `json:"user"`
	Password   bool   `json:"password"`
	Identities int    `json:"identities"`
	Changed    int64  `json:"changed_ms"` // as Account's ChangedAt: 0 for a user who never signed in by a link
	Staff      bool   `json:"staff"`      // is not only a student in some class
	Invitation *Token `json:"-"`          // the newest; nil: none
}

// Has reports whether the user can sign in without an invitation.
func (w WayIn) Has() bool { return w.Password || w.Identities > 0 }

// MaxKeys bounds the users that one call names.
const MaxKeys = 1000

// CheckKeys returns LIMIT for too many.
func CheckKeys(keys []string) error {
	if len(keys) > MaxKeys {
		return core.Errorf(core.CodeLimit, "", "%d users are asked for at once, at most %d may be", len(keys), MaxKeys)
	}
	return nil
}

package sqlite

import (
	"context"
	"errors"

	"drover/core"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// reasons explain SQLite's error codes. All of them are faults of the file's location, so they are UNAVAILABLE.
var reasons = map[int]string{
	sqlite3.SQLITE_FULL:     "its disk is full: free space there",
	sqlite3.SQLITE_READONLY: "it cannot be written: check the rights of file and folder",
	sqlite3.SQLITE_BUSY:     "another program keeps it locked",
	sqlite3.SQLITE_LOCKED:   "another connection keeps it locked",
	sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check that file and folder exist and may be used",
	sqlite3.SQLITE_PERM:     "it may not be used: check the rights of file and folder",
	sqlite3.SQLITE_AUTH:     "it may not be used: check the rights of file and folder",
	sqlite3.SQLITE_IOERR:    "its disk failed",
	sqlite3.SQLITE_CORRUPT:  "its file is damaged: restore a backup",
	sqlite3.SQLITE_NOMEM:    "this machine is out of memory",
}

// fault turns an error of the driver into one of core's; errors of core are returned unchanged.
func fault(err error, id string) error {
	var known *core.Error
	var its *sqlite.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return core.Wrap(err, core.CodeUnavailable, id, "the caller stopped waiting for the result store")
	case errors.As(err, &its) && its.Code()&0xff == sqlite3.SQLITE_NOTADB:
		return core.Wrap(err, core.CodeInvalid, id, "%s is not a result store: name another path", id)
	case errors.As(err, &its) && reasons[its.Code()&0xff] != "":
		return core.Wrap(err, core.CodeUnavailable, id, "the result store cannot be used, %s", reasons[its.Code()&0xff])
	}
	return core.Wrap(err, core.CodeInternal, id, "the result store failed")
}

// busy reports whether another process has the file's lock for now.
func busy(err error) bool {
	var its *sqlite.Error
	return errors.As(err, &its) && its.Code()&0xff == sqlite3.SQLITE_BUSY
}

// closed is what every call on a closed store returns.
func closed() error {
	return core.Errorf(core.CodeUnavailable, "", "the result store is closed")
}

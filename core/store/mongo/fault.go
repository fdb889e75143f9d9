package mongo

import (
	"context"
	"errors"
	"slices"
	"strings"

	"drover/core"

	driver "go.mongodb.org/mongo-driver/v2/mongo"
)

// errTaken means that another document has the same unique value.
var errTaken = errors.New("another document has it")

// reasons explain a server's error codes. All of them are faults of the database's location, so they are UNAVAILABLE.
var reasons = []struct {
	codes []int
	text  string
}{
	{[]int{11, 18}, "it does not know the user or the password: check the URL and store_password_file"},
	{[]int{13}, "its user may not do that: give it the roles readWrite and dbAdmin on the database"},
	{[]int{89, 91, 189, 10107, 11600, 11602, 13435, 13436}, "it has no primary at the moment"},
	{[]int{50, 64, 262}, "it took too long"},
	{[]int{14031}, "its disk is full: free space there"},
}

// fault turns an error of the driver into one of core's; errors of core are returned unchanged.
func (s *Store) fault(err error) error {
	var known *core.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case duplicate(err):
		return errTaken
	case errors.Is(err, driver.ErrClientDisconnected):
		return core.Errorf(core.CodeUnavailable, "", "the result store is closed")
	case errors.Is(err, context.Canceled):
		return core.Wrap(s.discreet(err), core.CodeUnavailable, s.name, "the caller stopped waiting for the result store")
	}
	for _, reason := range reasons {
		if slices.ContainsFunc(reason.codes, func(code int) bool { return hasCode(err, code) }) {
			return core.Wrap(s.discreet(err), core.CodeUnavailable, s.name, "result store %s cannot be used, %s", s.name, reason.text)
		}
	}
	if !answered(err) || driver.IsTimeout(err) || driver.IsNetworkError(err) {
		return core.Wrap(s.discreet(err), core.CodeUnavailable, s.name, "result store %s cannot be reached", s.name)
	}
	return core.Wrap(s.discreet(err), core.CodeInternal, s.name, "result store %s failed", s.name)
}

// answered reports whether the error came from a server; the driver gives its own errors no code.
func answered(err error) bool {
	var its driver.ServerError
	return errors.As(err, &its) && slices.ContainsFunc(its.ErrorCodes(), func(code int) bool { return code != 0 })
}

func hasCode(err error, code int) bool {
	var its driver.ServerError
	return errors.As(err, &its) && its.HasErrorCode(code)
}

// duplicate reports whether a unique value exists already. FerretDB 1 reports it in SQLite's words if an update would
// cause it.
func duplicate(err error) bool {
	return driver.IsDuplicateKeyError(err) || hasCode(err, 1) && strings.Contains(err.Error(), "UNIQUE constraint failed")
}

// discreet hides an error that quotes the password.
func (s *Store) discreet(err error) error {
	if s.password != "" && strings.Contains(err.Error(), s.password) {
		return errors.New("the server's answer is left out, for it repeats the password")
	}
	return err
}

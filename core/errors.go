package core

import (
	"errors"
	"fmt"
)

// Code says what kind of refusal or fault an Error is. Programs test codes,
// people read the sentence.
type Code string

// The codes. Lua scripts refuse with the same words.
const (
	CodeInvalid     Code = "INVALID"     // the input is wrong; correct it and call again
	CodeNotFound    Code = "NOTFOUND"    // no such request, VM, pool, host, owner or file
	CodeConflict    Code = "CONFLICT"    // the thing is in a state that does not allow the call
	CodeFull        Code = "FULL"        // a limit on waiting work or memory is reached; try later
	CodeFenced      Code = "FENCED"      // the caller's epoch is over; stop its work and start anew
	CodeStale       Code = "STALE"       // the token, lane sequence or record is not the current one
	CodeBusy        Code = "BUSY"        // another living process holds the name or lock
	CodeVersion     Code = "VERSION"     // another schema version is in use
	CodeEnded       Code = "ENDED"       // the request already has its terminal result
	CodeCancelled   Code = "CANCELLED"   // somebody cancelled the work
	CodeUnavailable Code = "UNAVAILABLE" // Redis, store, blob store or provider cannot be reached or used
	CodeForbidden   Code = "FORBIDDEN"   // wrong secret or missing right
	CodeBadVM       Code = "BADVM"       // the VM or its agent failed: a platform fault
	CodeLimit       Code = "LIMIT"       // a bound on size, count or time was exceeded
	CodeInternal    Code = "INTERNAL"    // a bug
)

// Error is the type of every error that crosses a package border: a code for programs, the id of the object for
// operators, a sentence for people.
type Error struct {
	Code Code
	ID   string // the object that it is about; may be empty
	Text string // what is wrong and, if possible, how to mend it
	Err  error  // cause; may be nil
}

// Error returns the sentence, followed by the cause if there is one.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Text
	}
	return e.Text + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error without a cause.
func Errorf(code Code, id, format string, args ...any) *Error {
	return &Error{Code: code, ID: id, Text: fmt.Sprintf(format, args...)}
}

// Wrap gives a foreign error a code, an id and a sentence. It returns nil for a nil error.
func Wrap(err error, code Code, id, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Code: code, ID: id, Text: fmt.Sprintf(format, args...), Err: err}
}

// CodeOf returns the code of the first Error in err's chain, INTERNAL for any
// other error and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// CodeOr is CodeOf, but returns otherwise for an error without a code.
func CodeOr(err error, otherwise Code) Code {
	if code := CodeOf(err); code != CodeInternal {
		return code
	}
	return otherwise
}

// Is reports whether err carries the code.
func Is(err error, code Code) bool { return CodeOf(err) == code }

package page

import (
	"errors"
	"net/http"

	"drover/core"
)

// failure is what the error page shows.
type failure struct {
	Status int
	Title  string
	Text   string
}

// Status returns the HTTP status for an error.
func Status(err error) int {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return http.StatusRequestEntityTooLarge
	}
	switch core.CodeOf(err) {
	case "":
		return http.StatusOK
	case core.CodeInvalid:
		return http.StatusUnprocessableEntity
	case core.CodeNotFound:
		return http.StatusNotFound
	case core.CodeForbidden:
		return http.StatusForbidden
	case core.CodeConflict, core.CodeEnded, core.CodeBusy, core.CodeStale, core.CodeCancelled:
		return http.StatusConflict
	case core.CodeLimit:
		return http.StatusRequestEntityTooLarge
	case core.CodeFull:
		return http.StatusTooManyRequests
	case core.CodeUnavailable, core.CodeVersion, core.CodeFenced, core.CodeBadVM:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// fail answers with an error page. Faults that are not the reader's are logged, and shown without their causes.
func (r *Request) fail(err error) {
	f := failure{Status: Status(err), Text: err.Error()}
	switch f.Status {
	case http.StatusNotFound:
		f.Title = r.T("Not found")
	case http.StatusForbidden:
		f.Title = r.T("Not allowed")
	case http.StatusRequestEntityTooLarge:
		f.Title = r.T("Too large")
	case http.StatusTooManyRequests:
		f.Title = r.T("Too much at once")
	case http.StatusUnprocessableEntity, http.StatusConflict:
		f.Title = r.T("That did not work")
	case http.StatusServiceUnavailable:
		f.Title = r.T("Not available right now")
		f.Text = r.T("A service that this site needs does not answer. Your submissions are safe. Try again in a moment.")
	default:
		f.Title = r.T("A fault of this site")
		f.Text = r.T("This is not your fault. The error was logged; try again, and tell your staff if it persists.")
	}
	if f.Status >= http.StatusInternalServerError && r.site.cfg.Log != nil && r.Context().Err() == nil { // unless the reader has gone away
		r.site.cfg.Log.WithError(err).WithField("route", r.route.Pattern).Error("a page failed")
	}
	if err := r.render(f.Status, "failure", f); err != nil {
		http.Error(r.W, f.Title, f.Status)
	}
}

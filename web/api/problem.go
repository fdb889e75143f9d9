package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"drover/core"
	"drover/web/page"
)

// Bounds of what a problem says.
const (
	maxDetail = 2000
	maxID     = 160
	maxFaults = 200
)

// retrySeconds is when to try again if nothing better is known.
const retrySeconds = 10

// Problem is the body of every error: problem details by RFC 9457.
type Problem struct {
	Type   string    `json:"type" format:"uri-reference" doc:"documentation of the problem"`
	Title  string    `json:"title" doc:"what the status means"`
	Status int       `json:"status" doc:"the HTTP status"`
	Detail string    `json:"detail" doc:"what is wrong and how to fix it, a sentence for people"`
	Code   core.Code `json:"code" doc:"code of the problem, for programs"`
	ID     string    `json:"id,omitempty" doc:"id of the object that the problem is about"`
	Errors []Fault   `json:"errors,omitempty" doc:"errors in the input, field by field"`

	headers http.Header
}

// Fault is one fault of an input.
type Fault struct {
	Location string `json:"location" doc:"such as body.title or query.limit"`
	Message  string `json:"message"`
}

// GetStatus returns the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// Error returns the sentence.
func (p *Problem) Error() string { return p.Detail }

// GetHeaders returns headers of the answer; nil for none.
func (p *Problem) GetHeaders() http.Header { return p.headers }

// ContentType returns the media type of problems.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// newProblem returns an error of core as a problem with a status.
func newProblem(status int, err *core.Error) *Problem {
	return &Problem{
		Type: problemType(err.Code), Title: http.StatusText(status), Status: status,
		Detail: cut(err.Error(), maxDetail), Code: err.Code, ID: cut(err.ID, maxID),
	}
}

func problemType(code core.Code) string { return "/api/docs#problem-" + string(code) }

// problem converts an error to a problem. Faults that are not the caller's are logged, and returned without their
// causes.
func (s *server) problem(op Operation, err error) *Problem {
	var done *Problem
	if errors.As(err, &done) {
		return done
	}
	status := page.Status(err)
	fault := &core.Error{Code: core.CodeInternal}
	errors.As(err, &fault)
	told := &core.Error{Code: fault.Code, ID: fault.ID, Text: err.Error()}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		told.Code = core.CodeLimit
	}
	if status < http.StatusInternalServerError {
		p := patient(newProblem(status, told))
		p.Errors = faultsOf(err, op.input())
		return p
	}
	if s.Log != nil {
		s.Log.WithError(err).WithField("operation", op.ID).Error("a call of the API failed")
	}
	told.ID, told.Text = "", "the site has a fault, which has been noted: it is none of yours"
	if status == http.StatusServiceUnavailable {
		told.Text = "something that the site needs does not answer: try again in a moment"
	}
	return patient(newProblem(status, told))
}

// patient sets when to try again what may work later.
func patient(p *Problem) *Problem {
	if p.Status == http.StatusTooManyRequests || p.Status == http.StatusServiceUnavailable {
		p.headers = http.Header{headerRetry: {strconv.Itoa(retrySeconds)}}
	}
	return p
}

// problemOf converts huma's own errors. The input is not repeated: it may be a secret.
func problemOf(_ huma.Context, _ string, body any) (any, error) {
	e, ok := body.(*huma.ErrorModel)
	if !ok {
		return body, nil
	}
	return faulty(e.Status, e.Detail, e.Errors), nil
}

// faulty returns a problem with the faults of an input, place by place.
func faulty(status int, detail string, found []*huma.ErrorDetail) *Problem {
	code, said := core.CodeInvalid, strings.Builder{}
	if status == http.StatusRequestEntityTooLarge || status == http.StatusRequestTimeout {
		code = core.CodeLimit
	}
	said.WriteString("the request is wrong: " + detail)
	var faults []Fault
	for i, one := range found[:min(len(found), maxFaults)] {
		f := Fault{Location: cut(one.Location, maxID), Message: cut(one.Message, maxDetail)}
		faults = append(faults, f)
		if i == 0 {
			said.WriteString(": " + f.Message + " (" + f.Location + ")")
		}
	}
	p := newProblem(status, core.Errorf(code, "", "%s", said.String()))
	p.Errors = faults
	return p
}

func writeProblem(w http.ResponseWriter, p *Problem) {
	raw, err := json.Marshal(p)
	if err != nil {
		raw = []byte(`{"code":"INTERNAL"}`) // a struct of strings can be written
	}
	for name, values := range p.headers {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_, _ = w.Write(raw) // the caller has gone away
}

// cut shortens a text to at most so many bytes, whole characters.
func cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

package live

import (
	"net/http"
	"strconv"

	"drover/core"
	"drover/web/caller"
	"drover/web/page"
)

// busySeconds is when to try again if there are too many streams.
const busySeconds = 10

// Pages returns the streams of pages, for /events/. The caller is in the request's context, see package caller.
func (s *Streams) Pages() http.Handler {
	mux := http.NewServeMux()
	for pattern, from := range map[string]func(id string) source{
		"GET /events/requests/{id}":    s.requestPage,
		"GET /events/batches/{id}":     s.batch,
		"GET /events/submissions/{id}": s.submissionPage,
		"GET /events/tasks/{id}":       s.task,
		"GET /events/experiments/{id}": s.experiment,
		"GET /events/cluster":          func(string) source { return s.cluster },
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			st, err := s.begin(r, from(r.PathValue("id")))
			if err != nil {
				s.refuse(w, r, err)
				return
			}
			st.Serve(w)
		})
	}
	return mux
}

// refuse answers if there is no stream. The text is not shown: a browser uses only the status.
func (s *Streams) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status := page.Status(err)
	switch {
	case caller.From(r.Context()) == nil:
		status = http.StatusUnauthorized
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(busySeconds))
	case status == http.StatusInternalServerError && s.Log != nil && core.CodeOf(err) != "":
		s.Log.WithError(err).WithField("path", r.URL.Path).Error("a stream of events cannot begin")
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, http.StatusText(status), status)
}

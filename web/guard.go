package web

import (
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/service/pattern"
)

// policy lets a page load only what this site serves, and run only scripts in files.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// headers sets the security headers. A handler may tighten the policy.
func headers(secure bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY") // for browsers that do not know frame-ancestors
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
		if secure {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// sameSite refuses requests that a browser sends from another site's page, except to some patterns.
func sameSite(origins, open []string, next http.Handler) (http.Handler, error) {
	protection := http.NewCrossOriginProtection()
	for _, pattern := range open {
		protection.AddInsecureBypassPattern(pattern)
	}
	for _, origin := range origins {
		if err := protection.AddTrustedOrigin(origin); err != nil {
			return nil, core.Wrap(err, core.CodeInvalid, origin, "%s is no origin: use one such as https://drover.example.org", origin)
		}
	}
	return protection.Handler(next), nil
}

// compress compresses answers that are worth it; streams of events are not delayed by it.
func compress(next http.Handler) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(
		gzhttp.ExceptContentTypes([]string{"text/event-stream", "application/zip", "application/octet-stream"}), gzhttp.SuffixETag("-gzip"),
	)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInternal, "", "compression cannot be set up")
	}
	return wrap(plainTags(next)), nil
}

// plainTags lets handlers see their own entity tags: those of compressed answers differ.
func plainTags(next http.Handler) http.Handler {
	plain := strings.NewReplacer(`-gzip"`, `"`, `-zstd"`, `"`)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"If-Match", "If-None-Match"} {
			for i, tag := range r.Header[name] {
				r.Header[name][i] = plain.Replace(tag)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// recorder records the status and size of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Flush passes on what streams have written. The compression asks for nothing else.
func (r *recorder) Flush() { _ = http.NewResponseController(r.ResponseWriter).Flush() } // the next write fails

// Unwrap lets http.ResponseController reach what streams need.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// token is a token of drover, wherever in a path it stands.
var token = pattern.New(`dro_\w+`)

// shown returns a path without keys, which paths of the Tango API contain: neither tokens nor anything else in their
// place.
func shown(path string) string {
	path = token().ReplaceAllString(path, "KEY")
	if !strings.HasPrefix(path, "/tango/") {
		return path
	}
	words := strings.SplitN(path, "/", 5) // "", tango, verb, key, the rest
	if len(words) > 3 {
		words[3] = "KEY"
	}
	return strings.Join(words, "/")
}

// logged logs each request without its query, which may contain a secret, and turns a panic into an error page.
func logged(log logrus.FieldLogger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		rec := &recorder{ResponseWriter: w}
		entry := log.WithField("method", r.Method).WithField("path", shown(r.URL.Path))
		defer func() {
			if fault := recover(); fault != nil {
				if fault == http.ErrAbortHandler { //nolint:errorlint,err113 // net/http compares so too
					panic(fault)
				}
				entry.WithField("panic", fault).WithField("stack", string(debug.Stack())).Error("a request failed by a bug")
				if rec.status == 0 {
					http.Error(rec, "this site has a fault, which has been noted", http.StatusInternalServerError)
				}
			}
			entry.WithField("status", rec.status).WithField("ms", time.Since(began).Milliseconds()).Debug("answered")
		}()
		next.ServeHTTP(rec, r)
	})
}

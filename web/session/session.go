// Package session authenticates callers: a browser by the cookie of its session, a program by its token. Rights are
// looked up for each request, not kept from the sign-in.
package session

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/sirupsen/logrus"

	"drover/core/redisstore"
)

// How long a session lasts.
const (
	idle  = 12 * time.Hour // unused
	whole = 7 * 24 * time.Hour
)

// New makes the sessions of a site, which are kept in Redis. Secure means that browsers reach it by https: then the
// cookie is bound to this host.
func New(store *redisstore.Store, secure bool, log logrus.FieldLogger) *scs.SessionManager {
	s := scs.New()
	s.Store = store.Sessions()
	s.HashTokenInStore = true
	s.IdleTimeout, s.Lifetime = idle, whole
	s.Cookie.Name = "drover"
	if secure {
		s.Cookie.Name, s.Cookie.Secure = "__Host-drover", true
	}
	s.Cookie.HttpOnly, s.Cookie.SameSite, s.Cookie.Path = true, http.SameSiteLaxMode, "/"
	s.ErrorFunc = func(w http.ResponseWriter, _ *http.Request, err error) { away(w, log, err) }
	return s
}

// away answers if the caller cannot be looked up.
func away(w http.ResponseWriter, log logrus.FieldLogger, err error) {
	if !errors.Is(err, context.Canceled) { // otherwise the client has gone away
		log.WithError(err).Warn("it is not known who asks")
	}
	w.Header().Set("Retry-After", "5")
	http.Error(w, "this site cannot look up who you are at this moment: try again soon", http.StatusServiceUnavailable)
}

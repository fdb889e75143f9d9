package redisstore

import (
	"errors"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// link is what a URL names: one server, or the primary that Sentinels name. One of the two is set.
type link struct {
	single   *redis.Options
	sentinel *redis.FailoverOptions
}

// parseURL reads a Redis URL. Its errors quote no part of the URL, which may hold passwords.
func parseURL(text string) (link, error) {
	u, err := url.Parse(text)
	if err != nil {
		return link{}, errors.New("write redis://host:port, rediss://…, unix:///path/to/socket or redis+sentinel://…")
	}
	scheme, kind, _ := strings.Cut(u.Scheme, "+")
	plain := *u
	plain.Scheme = scheme
	switch kind {
	case "":
		if conf, err := redis.ParseURL(text); err == nil {
			return link{single: conf}, nil
		}
		return link{}, errors.New("write redis://host:port/db, rediss://… or unix:///path/to/socket")
	case "sentinel":
		return parseSentinel(plain)
	}
	return link{}, errors.New("behind redis+ or rediss+ stands sentinel")
}

// parseSentinel reads a URL of Sentinels. As in every URL, the user and password before the host belong to the
// server. The library expects those of the Sentinels there; ours are parameters.
func parseSentinel(u url.URL) (link, error) {
	wrong := errors.New("write redis+sentinel://host:26379/db?master_name=NAME&addr=host2:26379&addr=host3:26379, " +
		"with the server's user in front of the host and the Sentinels' as sentinel_username")
	query, server := u.Query(), u.User
	if query.Get("master_name") == "" || query.Has("username") || query.Has("password") {
		return link{}, wrong
	}
	u.User = url.UserPassword(query.Get("sentinel_username"), query.Get("sentinel_password"))
	query.Del("sentinel_username")
	query.Del("sentinel_password")
	u.RawQuery = query.Encode()
	conf, err := redis.ParseFailoverURL(u.String())
	if err != nil {
		return link{}, wrong
	}
	conf.Username = server.Username()
	conf.Password, _ = server.Password()
	if conf.TLSConfig != nil {
		conf.TLSConfig.ServerName = "" // each Sentinel's own name, not the first one's
	}
	return link{sentinel: conf}, nil
}

// clients makes the two clients of a store. The first repeats calls by itself and knows to which incarnation of the
// server each connection leads. The second makes each call once and has no timeout of its own for answers, because
// its calls block.
func (s *Store) clients(l link) (db, once *redis.Client) {
	const never = -1
	if l.sentinel != nil {
		conf := *l.sentinel
		conf.ContextTimeoutEnabled, conf.DisableIdentity = true, true
		conf.MinIdleConns = 0 // no connection before OnConnect is set
		single := conf
		single.MaxRetries, single.ReadTimeout = never, never
		c := redis.NewFailoverClient(&conf)
		c.Options().OnConnect = s.noteLife // if set earlier, it would also be called for the Sentinels
		return s.watched(c), redis.NewFailoverClient(&single)
	}
	conf := *l.single
	conf.ContextTimeoutEnabled, conf.DisableIdentity, conf.MaintNotificationsConfig = true, true, disabled()
	single := conf
	conf.OnConnect = s.noteLife
	single.MaxRetries, single.ReadTimeout = never, never
	return s.watched(redis.NewClient(&conf)), redis.NewClient(&single)
}

// disabled turns off a feature that only one vendor's hosted servers have.
func disabled() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

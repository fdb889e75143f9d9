package redisstore

import (
	"errors"
	"net/url"
	"strings"

	"drover/core"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// link is what a URL names: one server, the primary that Sentinels name, or a
// Cluster. One of the three is set.
type link struct {
	single   *redis.Options
	sentinel *redis.FailoverOptions
	cluster  *redis.ClusterOptions
}

// parseURL reads a Redis URL. Its errors quote nothing of it: it may hold passwords.
func parseURL(text string) (link, error) {
	u, err := url.Parse(text)
	if err != nil {
		return link{}, errors.New("write redis://host:port, rediss://…, unix:///path/to/socket, redis+sentinel://… or redis+cluster://…")
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
	case "cluster":
		if conf, err := redis.ParseClusterURL(plain.String()); err == nil && strings.Trim(u.Path, "/") == "" {
			if conf.TLSConfig != nil {
				conf.TLSConfig.ServerName = "" // each node's own, not the first one's
			}
			return link{cluster: conf}, nil
		}
		return link{}, errors.New("write redis+cluster://host:port?addr=host2:port2, without a database: a Redis Cluster has only one")
	}
	return link{}, errors.New("behind redis+ or rediss+ stands sentinel or cluster")
}

// parseSentinel reads a URL of Sentinels. As in every URL the user and password in
// front of the host are those of the server; the Sentinels' own, which the library
// wants there, are parameters.
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
		conf.TLSConfig.ServerName = "" // each one's own, not the first Sentinel's
	}
	return link{sentinel: conf}, nil
}

// clients makes the two clients of a store: one that repeats calls by itself and knows
// which life of the server each of its connections leads to; and one that makes each call
// one time, and has no bound of its own for answers, because its calls block.
func (s *Store) clients(l link) (db, once redis.UniversalClient) {
	const never = -1
	switch {
	case l.sentinel != nil:
		conf := *l.sentinel
		conf.ContextTimeoutEnabled, conf.DisableIdentity = true, true
		conf.MinIdleConns = 0 // no connection before the next lines
		single := conf
		single.MaxRetries, single.ReadTimeout = never, never
		c := redis.NewFailoverClient(&conf)
		c.Options().OnConnect = s.noteLife // set before, it would ask the Sentinels too
		return s.watched(c), redis.NewFailoverClient(&single)
	case l.cluster != nil:
		conf := *l.cluster
		conf.ContextTimeoutEnabled, conf.DisableIdentity, conf.MaintNotificationsConfig = true, true, disabled()
		single := conf
		conf.OnConnect = s.noteLife
		single.MaxRedirects, single.ReadTimeout = never, never
		return s.watchedNodes(redis.NewClusterClient(&conf), true), s.watchedNodes(redis.NewClusterClient(&single), false)
	default:
		conf := *l.single
		conf.ContextTimeoutEnabled, conf.DisableIdentity, conf.MaintNotificationsConfig = true, true, disabled()
		single := conf
		conf.OnConnect = s.noteLife
		single.MaxRetries, single.ReadTimeout = never, never
		return s.watched(redis.NewClient(&conf)), redis.NewClient(&single)
	}
}

// disabled turns off what only hosted servers of one maker have.
func disabled() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// checkSpace refuses a namespace whose keys a Redis Cluster would spread.
func (l link) checkSpace(space string) error {
	if l.cluster == nil || strings.HasPrefix(space, "{") && strings.HasSuffix(space, "}") {
		return nil
	}
	return core.Errorf(core.CodeInvalid, space,
		"on a Redis Cluster all keys of a cluster must be on one shard: write the namespace in braces, --namespace '{%s}'", space)
}

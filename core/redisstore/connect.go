package redisstore

import (
	"errors"
	"net/url"
	"strings"

	"drover/core"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// link is what a URL names: one server, the primary that Sentinels name, or a Redis Cluster. One of the three is set.
type link struct {
	single   *redis.Options
	sentinel *redis.FailoverOptions
	cluster  *redis.ClusterOptions
}

// parseURL reads a Redis URL. Its errors quote no part of the URL, which may hold passwords.
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
				conf.TLSConfig.ServerName = "" // each node's own name, not the first node's
			}
			return link{cluster: conf}, nil
		}
		return link{}, errors.New("write redis+cluster://host:port?addr=host2:port2, without a database: a Redis Cluster has only one")
	}
	return link{}, errors.New("behind redis+ or rediss+ stands sentinel or cluster")
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
func (s *Store) clients(l link) (db, once redis.UniversalClient) {
	const never = -1
	switch {
	case l.sentinel != nil:
		conf := *l.sentinel
		conf.ContextTimeoutEnabled, conf.DisableIdentity = true, true
		conf.MinIdleConns = 0 // no connection before OnConnect is set
		single := conf
		single.MaxRetries, single.ReadTimeout = never, never
		c := redis.NewFailoverClient(&conf)
		c.Options().OnConnect = s.noteLife // if set earlier, it would also be called for the Sentinels
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

// disabled turns off a feature that only one vendor's hosted servers have.
func disabled() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// checkSpace refuses a namespace whose keys would be on several shards of a Redis Cluster.
func (l link) checkSpace(space string) error {
	if l.cluster == nil || strings.HasPrefix(space, "{") && strings.HasSuffix(space, "}") {
		return nil
	}
	return core.Errorf(core.CodeInvalid, space,
		"on a Redis Cluster all keys of a cluster must be on one shard: write the namespace in braces, --namespace '{%s}'", space)
}

package redisstore

import (
	"context"
	"errors"
	"net"
	"strconv"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// Around describes the Sentinels or the Redis Cluster around the server that has our keys, for doctor.
type Around struct {
	Kind    string // sentinel or cluster; "" for a server that, as far as we know, is alone
	Primary string // address of the server, as the Sentinels or the Redis Cluster name it

	Name      string // what the Sentinels call it
	Sentinels int    // their number, as they report it
	Silent    map[string]error
	Quorum    error // why they could not elect another primary now; nil if they could

	Shards int // of the Redis Cluster
}

// Around queries the Sentinels or the Redis Cluster that the URL names. Returns UNAVAILABLE if none answers.
func (s *Store) Around(ctx context.Context) (Around, error) {
	switch {
	case s.link.sentinel != nil:
		return s.aroundSentinel(ctx)
	case s.link.cluster != nil:
		home := Around{Kind: "cluster"}
		nodes, ok := s.db.(*redis.ClusterClient)
		if !ok {
			return home, core.Errorf(core.CodeInternal, "", "the client of a Redis Cluster is none")
		}
		shards, err := nodes.ClusterShards(ctx).Result()
		if err != nil {
			return home, fault(ctx, err, "")
		}
		primary, err := nodes.MasterForKey(ctx, s.space.Key("meta"))
		if err != nil {
			return home, fault(ctx, err, "")
		}
		home.Primary = primary.Options().Addr
		for _, shard := range shards {
			if len(shard.Slots) > 0 {
				home.Shards++
			}
		}
		return home, nil
	}
	return Around{}, nil
}

// aroundSentinel queries every Sentinel that the URL names.
func (s *Store) aroundSentinel(ctx context.Context) (Around, error) {
	conf := s.link.sentinel
	a := Around{Kind: "sentinel", Name: conf.MasterName, Silent: make(map[string]error)}
	for _, addr := range conf.SentinelAddrs {
		c := redis.NewSentinelClient(&redis.Options{
			Addr: addr, Username: conf.SentinelUsername, Password: conf.SentinelPassword, TLSConfig: conf.TLSConfig,
			DialTimeout: conf.DialTimeout, MaintNotificationsConfig: disabled(), DisableIdentity: true,
		})
		its, err := c.Master(ctx, conf.MasterName).Result()
		if err == nil {
			others, _ := strconv.Atoi(its["num-other-sentinels"]) // 0 if it does not say
			a.Primary, a.Sentinels = net.JoinHostPort(its["ip"], its["port"]), others+1
			if err := c.CkQuorum(ctx, conf.MasterName).Err(); err != nil && !redis.HasErrorPrefix(err, "NOPERM") {
				a.Quorum = err
			}
		} else {
			a.Silent[addr] = err
		}
		if err := c.Close(); err != nil {
			return a, err
		}
	}
	if len(a.Silent) == len(conf.SentinelAddrs) {
		var all error
		for _, err := range a.Silent {
			all = errors.Join(all, err)
		}
		return a, core.Wrap(all, core.CodeUnavailable, conf.MasterName, "no Sentinel answers")
	}
	return a, nil
}

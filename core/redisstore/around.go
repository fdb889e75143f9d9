package redisstore

import (
	"context"
	"errors"
	"net"
	"strconv"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// Around describes the Sentinels around the server that has our keys, for doctor.
type Around struct {
	Primary   string // address of the server, as the Sentinels name it
	Name      string // what the Sentinels call it
	Sentinels int    // their number, as they report it
	Silent    map[string]error
	Quorum    error // why they could not elect another primary now; nil if they could
}

// Around queries every Sentinel that the URL names; ok is false if it names none. Returns UNAVAILABLE if none answers.
func (s *Store) Around(ctx context.Context) (a Around, ok bool, err error) {
	conf := s.link.sentinel
	if conf == nil {
		return Around{}, false, nil
	}
	a = Around{Name: conf.MasterName, Silent: make(map[string]error)}
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
			return a, true, err
		}
	}
	if len(a.Silent) == len(conf.SentinelAddrs) {
		var all error
		for _, err := range a.Silent {
			all = errors.Join(all, err)
		}
		return a, true, core.Wrap(all, core.CodeUnavailable, conf.MasterName, "no Sentinel answers")
	}
	return a, true, nil
}

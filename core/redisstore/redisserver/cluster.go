package redisserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"drover/core/service/guard"

	"github.com/redis/go-redis/v9"
)

// Cluster is a Redis Cluster of some primaries, which have the slots between them, and as many
// replicas of each as were asked for.
type Cluster struct {
	Nodes []*Server // the primaries first, then the replicas of each in turn
}

const slots = 16384

// StartCluster starts a Redis Cluster, its nodes with more settings, and returns once each of them
// says that it is whole.
func StartCluster(ctx context.Context, primaries, replicas int, settings ...string) (*Cluster, error) {
	c := &Cluster{}
	for range primaries * (1 + replicas) {
		s, err := listening(ctx, "", append([]string{
			"--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0",
		}, settings...)...)
		if err != nil {
			return nil, errors.Join(err, c.Stop())
		}
		c.Nodes = append(c.Nodes, s)
	}
	if err := c.join(ctx, primaries); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// join gives the primaries their slots, introduces all to all, and the replicas to their primaries.
func (c *Cluster) join(ctx context.Context, primaries int) error {
	nodes := make([]*redis.Client, len(c.Nodes))
	for i, s := range c.Nodes {
		nodes[i] = redis.NewClient(&redis.Options{Network: "unix", Addr: s.Socket})
	}
	defer func() {
		for _, node := range nodes {
			_ = node.Close() // there is nothing to lose
		}
	}()
	for i, node := range nodes {
		// Nodes of the same epoch change it later by themselves, and one that takes over meanwhile loses what it took.
		if err := node.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			return err
		}
		if i < primaries {
			if err := node.ClusterAddSlotsRange(ctx, i*slots/primaries, (i+1)*slots/primaries-1).Err(); err != nil {
				return err
			}
		}
		host, port, _ := net.SplitHostPort(c.Nodes[i].Addr)
		if err := nodes[0].ClusterMeet(ctx, host, port).Err(); err != nil {
			return err
		}
	}
	whole := func(node *redis.Client) func() error {
		return func() error {
			its, err := node.ClusterInfo(ctx).Result()
			if err == nil && (!strings.Contains(its, "cluster_state:ok") || !strings.Contains(its, fmt.Sprintf("cluster_known_nodes:%d\r", len(nodes)))) {
				err = errors.New(its)
			}
			return err
		}
	}
	for i, node := range nodes {
		if err := guard.Eventually(ctx, "the Redis Cluster does not come together", whole(node)); err != nil {
			return err
		}
		if i < primaries {
			continue
		}
		id, err := nodes[i%primaries].ClusterMyID(ctx).Result()
		if err == nil {
			err = guard.Eventually(ctx, "a replica of the Redis Cluster does not follow", func() error {
				return node.ClusterReplicate(ctx, id).Err()
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// URL names the nodes.
func (c *Cluster) URL() string {
	u := "redis+cluster://" + c.Nodes[0].Addr
	for i, s := range c.Nodes[1:] {
		u += map[bool]string{true: "?", false: "&"}[i == 0] + "addr=" + s.Addr
	}
	return u
}

// Stop kills all and removes their folders.
func (c *Cluster) Stop() error {
	for _, s := range c.Nodes {
		_ = s.Stop() // each reports its own violent end
	}
	return nil
}

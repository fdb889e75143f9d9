package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"drover/core"

	"github.com/stretchr/testify/require"
)

// crowd is a cluster for scripts to work in. The large one is for what they cost; in the small one all of them find
// something to do.
type crowd struct {
	hosts, pools, submitters int
	flood                    int // requests of one submitter in p9
}

var (
	largeCrowd = crowd{hosts: 5_000, pools: 1_000, submitters: 10_000, flood: 10_000}
	smallCrowd = crowd{hosts: 200, pools: 20, submitters: 100, flood: 1_000}
)

const (
	crowdDeep = 10 // pools that have half of what waits
	crowdVMs  = 20 // of each host, half of them claimed
)

// come seeds the cluster: pools, hosts with their owners and VMs, and what waits.
func (of crowd) come(t testing.TB, x *suite, waiting int) {
	t.Helper()
	for i := range of.pools {
		pool := core.DefaultPool(fmt.Sprintf("p%d", i))
		pool.MaxWaiting = 1_000_000
		require.NoError(t, x.Store.SetPool(t.Context(), pool))
	}
	of.makeHosts(t, x)
	// What is claimed counts towards what a cluster allows, and the tour submits some, too.
	waiting = max(0, waiting-3*of.flood-of.hosts*crowdVMs/2)
	for i := range of.pools {
		each := waiting / 2 / crowdDeep / 3
		if i >= crowdDeep {
			each = waiting / 2 / (of.pools - crowdDeep) / 3
		}
		for _, priority := range core.Priorities()[:3] {
			of.fill(t, x, fmt.Sprintf("p%d", i), priority, each, i*each)
		}
	}
	many := specs("flood-", of.flood, "flood")
	for i := range many {
		many[i].Pool = "p9"
	}
	x.Submit(t, many...)
}

// makeHosts makes hosts that send no heartbeats, but are not due for an hour.
func (of crowd) makeHosts(t testing.TB, x *suite) {
	t.Helper()
	page := min(250, of.hosts)
	due := x.now(t).Add(time.Hour).UnixMilli()
	for first := 0; first < of.hosts; first += page {
		require.NoError(t, x.b.Admin.Eval(t.Context(), `
			local ns, due, incarnation, vms, pools = KEYS[1], ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
			for h = tonumber(ARGV[1]), tonumber(ARGV[2]) do
				local host = 'm' .. string.format('%d', h)
				redis.call('ZADD', ns .. ':hosts', due, host)
				redis.call('HSET', ns .. ':host:' .. host, 'state', 'up', 'epoch', '1', 'machine', host, 'incarnation', incarnation)
				redis.call('HSET', ns .. ':epochs', 'host:' .. host, '1')
				for _, role in ipairs({ 'testrunner', 'vmfactory', 'taskrunner' }) do
					local owner = role .. '@' .. host .. '#0'
					redis.call('ZADD', ns .. ':owners', due, owner)
					redis.call('SADD', ns .. ':owners:on:' .. host, owner)
					redis.call('HSET', ns .. ':owner:' .. owner, 'role', role, 'host', host, 'epoch', '1')
					redis.call('HSET', ns .. ':epochs', owner, '1')
				end
				for i = 1, vms do
					local pool = 'p' .. string.format('%d', (h + i) % pools)
					local vm = host .. '-vm' .. string.format('%d', i)
					redis.call('HSET', ns .. ':vms:' .. host, vm, pool .. '|1')
					if i % 2 == 0 then
						redis.call('RPUSH', ns .. ':vms:' .. host .. ':' .. pool .. ':clean', vm)
						redis.call('SADD', ns .. ':idle:' .. pool, host)
					else
						local key = host .. '-r' .. string.format('%d', i) .. '-1'
						redis.call('HSET', ns .. ':specs', key, '{"id":"' .. host .. '-r' .. string.format('%d', i) ..
							'","gen":1,"pool":"' .. pool .. '","priority":"normal","submitter":"ann","command":["true"]}')
						redis.call('HSET', ns .. ':slots:testrunner@' .. host .. '#0', key, vm .. '|1.1|1|running|0|')
						redis.call('HSET', ns .. ':held', key, "testrunner@" .. host .. "#0|" .. string.rep(' ', 50))
					end
				end
			end
			return 1`, []string{x.b.Namespace}, first, first+page-1, due, x.Store.Incarnation(), crowdVMs, of.pools).Err())
	}
}

// fill queues n requests of a pool and priority, of as many submitters as there are, beginning with a number.
func (of crowd) fill(t testing.TB, x *suite, pool string, priority core.Priority, n, first int) {
	t.Helper()
	const page = 2000
	for at := 0; at < n; at += page {
		require.NoError(t, x.b.Admin.Eval(t.Context(), `
			local ns, pool, priority, bytes = KEYS[1], ARGV[1], ARGV[2], 0
			local at, n, first, most = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
			local tail, specs = '","gen":1,"pool":"' .. pool .. '","priority":"' .. priority .. '","submitter":"', {}
			for i = at, at + n - 1 do
				local who, turn = string.format('u%d', (first + i) % most), string.format('%d', math.floor(i / most) + 1)
				local id = pool .. priority .. who .. '-' .. turn
				local spec = '{"id":"' .. id .. tail .. who .. '","command":["true"]}'
				redis.call('HSET', ns .. ':specs', id .. '-1', spec)
				redis.call('RPUSH', ns .. ':queue:' .. pool .. ':' .. priority .. ':' .. who, id .. '-1')
				if i < most then
					redis.call('RPUSH', ns .. ':turns:' .. pool .. ':' .. priority, who)
				end
				bytes = bytes + #id + 2 + #spec + 96
			end
			redis.call('HINCRBY', ns .. ':counts', pool .. ':' .. priority, n)
			redis.call('HINCRBY', ns .. ':counts', 'bytes', bytes)
			return 1`,
			[]string{x.b.Namespace}, pool, string(priority), at, min(page, n-at), first, of.submitters).Err())
	}
}

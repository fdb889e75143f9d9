-- Write the settings of a pool of a lease, and whether requests of the lease's holders go there.
-- ARGV    1 pool, 2 settings as JSON, 3 paused: 1 or 0, 4 most waiting per submitter and priority, 5 most VMs,
--         6 most running at once per submitter and priority, 0: any number, 7 pool that it is of,
--         8 whether requests go there: 1 or 0, 9 class of the lease, 10 its submitters, separated by spaces
-- RETURN  how many hosts were rung, the first ones: the others are for hosts_ring
-- REFUSE  NOTFOUND
-- MOVES   -
-- REPEAT  writes the same
local pool, of = ARGV[1], ARGV[7]
if redis.call('SISMEMBER', K.pools, of) == 0 then
  return fail('NOTFOUND', of)
end
local its = { open = tonumber(ARGV[8]), class = ARGV[9], submitters = ARGV[10] }
pass_when_full()
redis.call('SADD', K.pools, pool)
redis.call('HSET', K.pool(pool), 'settings', ARGV[2], 'paused', ARGV[3], 'max_waiting', ARGV[4], 'max', ARGV[5],
  'running', ARGV[6], 'of', of, 'holders', W.holders(its))
set_route(of, pool, its.open == 1 and its or nil)
event('lease pool', '-', pool)
return ring_hosts(0)

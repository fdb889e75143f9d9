-- Write a pool's settings; the result store has them first.
-- ARGV    1 pool, 2 settings as JSON, 3 paused: 1 or 0, 4 most waiting per submitter and priority, 5 most VMs,
--         6 most running at once per submitter and priority, 0: any number
-- RETURN  how many hosts were rung, the first ones: the others are for hosts_ring
-- REFUSE  -
-- MOVES   -
-- REPEAT  writes the same
pass_when_full()
redis.call('SADD', K.pools, ARGV[1])
redis.call('HSET', K.pool(ARGV[1]), 'settings', ARGV[2], 'paused', ARGV[3], 'max_waiting', ARGV[4], 'max', ARGV[5],
  'running', ARGV[6])
event('pool', '-', ARGV[1])
return ring_hosts(0)

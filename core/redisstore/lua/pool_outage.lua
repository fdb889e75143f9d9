-- Record that none of its hosts can make VMs of a pool, or that one can.
-- ARGV    1 pool, 2 the first of these hosts; empty: one can, 3 why it cannot
-- RETURN  1 if that is new, else 0
-- REFUSE  -
-- MOVES   -
-- REPEAT  the second run returns 0
local pool, host, key = ARGV[1], ARGV[2], K.pool(ARGV[1])
if host == '' or redis.call('SISMEMBER', K.pools, pool) == 0 then
  return end_outage(pool)
end
local clock, text = now(), redis.call('HGET', key, 'outage')
local its = R.outage(text)
-- The clock was set back if it began later than now.
local is = W.outage({ since = its and math.min(its.since, clock) or clock, host = host, why = ARGV[3] })
if is ~= text then
  pass_when_full()
  redis.call('HSET', key, 'outage', is)
end
if its then
  return 0
end
event('pool broken', '-', pool)
return 1

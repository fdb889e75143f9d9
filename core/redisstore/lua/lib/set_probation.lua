-- Give a host nothing for wait ms, then one request at a time; the next wait is twice the delay,
-- ms.
local function set_probation(host, wait, delay, needed, why, clock)
  redis.call('HSET', K.host(host), 'probation',
    W.probation({ from = clock + wait, good = 0, needed = needed, delay = delay, why = why }))
  local pools = redis.call('SMEMBERS', K.pools)
  never_idle(host, pools)
  unassign(host, pools, clock, clock, host .. ' is on probation')
  event('host probation', '-', host, { 'why', why })
end

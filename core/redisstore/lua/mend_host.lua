-- Correct a host's records: a host without a record is removed, an unlisted one is judged, one in
-- no state is down, a host that is down has nothing, and nothing is assigned to a host that takes
-- no work.
-- ARGV    1 host
-- RETURN  1
-- REFUSE  -
-- MOVES   host →down; vm clean→lost, dirty→lost, quarantined→lost; evacuation scheduled→failed
-- REPEAT  does the same
local host, clock = ARGV[1], now()
local its = redis.call('HMGET', K.host(host), 'state', 'epoch', 'drain', 'failed', 'canary', 'probation')
local state, epoch, last = its[1], its[2], redis.call('HGET', K.epochs, 'host:' .. host)
pass_when_full()
if redis.call('EXISTS', K.host(host)) == 0 then
  lose(host, clock)
  redis.call('ZREM', K.hosts, host)
  event('mend', '-', host)
  return 1
end
redis.call('ZADD', K.hosts, 'NX', clock, host)
if epoch ~= last then
  redis.call('HSET', K.epochs, 'host:' .. host, int(math.max(tonumber(epoch or 0), tonumber(last or 0))))
  redis.call('HSET', K.host(host), 'epoch', next_epoch('host:' .. host, clock))
end
if state ~= 'up' and state ~= 'suspect' and state ~= 'down' then
  state = 'down'
  redis.call('HSET', K.host(host), 'state', state, 'since', clock)
end
if state == 'suspect' then
  redis.call('SADD', K.suspects, host)
end
if state == 'down' and not its[4] then
  lose(host, clock)
elseif state == 'down' or its[3] == '1' then
  unassign(host, redis.call('SMEMBERS', K.pools), clock, clock, host .. ' takes no work')
end
local canary = R.canary(its[5])
if its[5] and not (its[6] and canary and redis.call('HEXISTS', K.slots(canary.owner), canary.key) == 1) then
  redis.call('HDEL', K.host(host), 'canary')
end
event('mend', '-', host)
return 1

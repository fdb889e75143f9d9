-- Write a round of placement: which clean VMs hosts should hold, and how much pools are used.
-- ARGV    1 the number of the round before it, 2 ms for which vmfactories follow it, 3 number of
--         hosts, then per host: itself, its targets as JSON; empty: it has none; then per pool:
--         itself, claims found, when they last grew, rate, when that was counted
-- RETURN  the number of the round
-- REFUSE  CONFLICT
-- MOVES   -
-- REPEAT  refuses CONFLICT
local clock, last = now(), R.planned(redis.call('HGET', K.meta, 'planned')) or { number = 0 }
if tostring(last.number) ~= ARGV[1] then
  return fail('CONFLICT', 'placement')
end
pass_when_full()
local n = tonumber(ARGV[3])
for i = 4, 3 + 2 * n, 2 do
  local host, targets = ARGV[i], ARGV[i + 1]
  if redis.call('EXISTS', K.host(host)) == 1 then
    if targets == '' then
      redis.call('HDEL', K.host(host), 'targets')
    else
      redis.call('HSET', K.host(host), 'targets', targets)
    end
    ring(K.factory_bell(host))
  end
end
for i = 4 + 2 * n, #ARGV, 5 do
  if redis.call('SISMEMBER', K.pools, ARGV[i]) == 1 then
    local its = { claims = tonumber(ARGV[i + 1]), at = tonumber(ARGV[i + 2]) }
    its.rate, its.rated = tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4])
    redis.call('HSET', K.pool(ARGV[i]), 'use', W.use(its))
  end
end
local number = last.number + 1
redis.call('HSET', K.meta, 'planned', W.planned({ number = number, at = clock, till = clock + tonumber(ARGV[2]) }))
return number

-- Put a host on probation, or end it. It gets nothing for a while, then one request at a time.
-- ARGV    1 host, 2 why; nothing: it ends, 3 ms before its first canary, 4 canaries in a row that
--         must succeed
-- RETURN  1
-- REFUSE  NOTFOUND
-- MOVES   evacuation scheduled→failed
-- REPEAT  a host on probation for the same reason stays as it is
local host, why, clock = ARGV[1], ARGV[2], now()
if redis.call('EXISTS', K.host(host)) == 0 then
  return fail('NOTFOUND', host)
end
local its = R.probation(redis.call('HGET', K.host(host), 'probation'))
if (its and its.why or '') == why then
  return 1
end
pass_when_full()
if why == '' then
  redis.call('HDEL', K.host(host), 'probation', 'canary')
  event('host trusted', '-', host)
  ring(K.bell(host))
  return 1
end
if not its then
  redis.call('HINCRBY', K.host(host), 'probations', 1)
end
set_probation(host, tonumber(ARGV[3]), tonumber(ARGV[3]), tonumber(ARGV[4]), why, clock)
return 1

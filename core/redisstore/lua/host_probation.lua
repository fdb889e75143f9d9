-- Put a host on probation, or end it. It gets nothing for a while, then one request at a time.
-- ARGV    1 host, 2 why; nothing: it ends, 3 ms before its first canary, 4 canaries in a row that
--         must go well
-- RETURN  1
-- REFUSE  NOTFOUND
-- MOVES   -
-- REPEAT  one on probation for the same reason stays as it is
local host, why, clock = ARGV[1], ARGV[2], now()
if redis.call('EXISTS', K.host(host)) == 0 then
  return fail('NOTFOUND', host)
end
local its = redis.call('HGET', K.host(host), 'probation')
local same = its and string.match(its, '^%d+|%d+|%d+|%d+|(.*)$') or ''
if same == why then
  return 1
end
pass_when_full()
if why == '' then
  redis.call('HDEL', K.host(host), 'probation', 'canary')
  event('host trusted', '-', host)
  ring(K.bell(host))
  return 1
end
local from = int(clock + tonumber(ARGV[3]))
redis.call('HSET', K.host(host), 'probation', table.concat({ from, 0, ARGV[4], ARGV[3], why }, '|'))
if not its then
  redis.call('HINCRBY', K.host(host), 'probations', 1)
end
for _, pool in ipairs(redis.call('SMEMBERS', K.pools)) do
  redis.call('SREM', K.idle(pool), host)
end
unaim(host, clock, clock, host .. ' is on probation')
event('host probation', '-', host, { 'why', why })
return 1

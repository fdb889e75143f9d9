-- Set or clear a host's drain flag. Every claim reads it; it outlives the host's death.
-- ARGV    1 host, 2 the flag: 1 or 0
-- RETURN  1
-- REFUSE  NOTFOUND
-- MOVES   -
-- REPEAT  sets the same
local host = ARGV[1]
if redis.call('EXISTS', K.host(host)) == 0 then
  return fail('NOTFOUND', host)
end
pass_when_full()
redis.call('HSET', K.host(host), 'drain', ARGV[2])
for _, pool in ipairs(redis.call('SMEMBERS', K.pools)) do
  redis.call('SREM', K.idle(pool), host)
end
event(ARGV[2] == '1' and 'drain' or 'undrain', '-', host)
ring(K.bell(host))
return 1

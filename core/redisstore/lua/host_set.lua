-- Write a host's settings; the result store has them first.
-- ARGV    1 host, 2 settings as JSON
-- RETURN  1
-- REFUSE  NOTFOUND
-- MOVES   -
-- REPEAT  writes the same
local host = ARGV[1]
if redis.call('EXISTS', K.host(host)) == 0 then
  return fail('NOTFOUND', host)
end
pass_when_full()
redis.call('HSET', K.host(host), 'settings', ARGV[2])
ring(K.factory_bell(host))
event('host set', '-', host)
return 1

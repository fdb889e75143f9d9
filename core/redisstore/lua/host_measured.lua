-- Record what a host's vmfactory measured of it, and return when it is to send the next measure: the
-- more hosts there are, the less often each of them does.
-- ARGV    1 owner, 2 epoch, 3 host, 4 the measure as JSON, 5 ms until the next one, at least,
--         6 ms until the next one for each host
-- RETURN  ms after which the next one is due
-- REFUSE  FENCED
-- MOVES   -
-- REPEAT  records it again
local owner, host = ARGV[1], ARGV[3]
if redis.call('HGET', K.owner(owner), 'epoch') ~= ARGV[2] then
  return fail('FENCED', owner)
end
local within = math.max(tonumber(ARGV[5]), tonumber(ARGV[6]) * redis.call('ZCARD', K.hosts))
pass_when_full()
redis.call('HSET', K.meta, 'load_age', within)
redis.call('HSET', K.host(host), 'load', ARGV[4], 'load_at', now())
return within

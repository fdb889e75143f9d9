-- Note which life of Redis this is, and tell since when it is seen to serve: a server says how
-- long it has been up, not how long it has been the primary.
-- ARGV    1 incarnation of Redis
-- RETURN  when it was first seen, ms
-- REFUSE  -
-- MOVES   -
-- REPEAT  answers the same
local its, since = string.match(redis.call('HGET', K.meta, 'life') or '', '^(.-)|(%d+)$')
if its == ARGV[1] then
  return tonumber(since)
end
pass_when_full()
local clock = now()
redis.call('HSET', K.meta, 'life', ARGV[1] .. '|' .. int(clock))
return clock

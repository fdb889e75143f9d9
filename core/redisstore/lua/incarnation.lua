-- Note which incarnation of Redis this is, and tell since when it is seen to serve: a server says how
-- long it has been up, not how long it has been the primary. An incarnation is young for as long as its
-- memory was old when it began: what ended in between is still in it.
-- ARGV    1 incarnation of Redis, 2 ms for which an incarnation is young at least, 3 at most
-- RETURN  {when it was first seen, ms; ms for which it still is young}
-- REFUSE  -
-- MOVES   -
-- REPEAT  answers the same, and how long it still is young
local clock = now()
local its, since, youth = string.match(redis.call('HGET', K.meta, 'incarnation') or '', '^(.-)|(%d+)|?(%d*)$')
if its ~= ARGV[1] then
  local newest = redis.call('XREVRANGE', K.events, '+', '-', 'COUNT', 1)[1]
  local age = newest and clock - tonumber(string.match(newest[1], '^%d+')) or 0
  since, youth = clock, math.min(math.max(age, tonumber(ARGV[2])), tonumber(ARGV[3]))
  pass_when_full()
  redis.call('HSET', K.meta, 'incarnation', ARGV[1] .. '|' .. int(clock) .. '|' .. int(youth))
end
since, youth = tonumber(since), tonumber(youth) or tonumber(ARGV[2])
-- Only while somebody gave signs of life can it have grown: what passed without any is a step of
-- the clock, or an outage. One that is to begin yet began by a clock that was set back since.
local sign = tonumber(redis.call('ZRANGE', K.owners, -1, -1, 'WITHSCORES')[2] or 0)
local silent_until = tonumber(redis.call('HGET', K.meta, 'silent_until') or 0)
local grown = math.min(clock, sign) - math.max(since, silent_until)
return { since, math.max(0, youth - math.max(0, grown)) }

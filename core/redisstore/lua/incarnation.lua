-- Record the current incarnation of Redis, and return since when it has been serving: a server
-- reports how long it has been up, not how long it has been the primary. An incarnation is young
-- for as long as its memory was old when it began: it still contains what ended in between.
-- ARGV    1 incarnation of Redis, 2 ms for which an incarnation is young at least, 3 at most
-- RETURN  {when it was first seen, ms; ms for which it still is young}
-- REFUSE  -
-- MOVES   -
-- REPEAT  returns the same, and how long it is still young
local clock = now()
local its = R.incarnation(redis.call('HGET', K.meta, 'incarnation'))
if not its or its.name ~= ARGV[1] then
  local newest = redis.call('XREVRANGE', K.events, '+', '-', 'COUNT', 1)[1]
  local age = newest and clock - tonumber(string.match(newest[1], '^%d+')) or 0
  local youth = math.min(math.max(age, tonumber(ARGV[2])), tonumber(ARGV[3]))
  its = { name = ARGV[1], since = clock, youth = youth }
  pass_when_full()
  redis.call('HSET', K.meta, 'incarnation', W.incarnation(its))
end
-- Only while somebody gave signs of life can it have grown: what passed without any is a step of
-- the clock, or an outage. One that is to begin yet began by a clock that was set back since.
local sign = tonumber(redis.call('ZRANGE', K.owners, -1, -1, 'WITHSCORES')[2] or 0)
local silent_until = tonumber(redis.call('HGET', K.meta, 'silent_until') or 0)
local grown = math.min(clock, sign) - math.max(its.since, silent_until)
return { its.since, math.max(0, its.youth - math.max(0, grown)) }

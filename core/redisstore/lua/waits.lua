-- Tell how long requests wait since they were given back or queued anew. One that waits since
-- a time to come, because the clock was set back, waits since now.
-- ARGV    the keys
-- RETURN  per key: ms; -1: since it was submitted, as far as Redis knows
-- REFUSE  -
-- MOVES   -
-- REPEAT  tells the same, and what passed meanwhile
local clock, out = now(), {}
for i, since in ipairs(redis.call('HMGET', K.waits, unpack(ARGV))) do
  since = since and tonumber(since)
  if since and since > clock then
    pass_when_full()
    redis.call('HSET', K.waits, ARGV[i], int(clock))
    since = clock
  end
  out[i] = since and clock - since or -1
end
return out

-- Return how long requests have been waiting since they were given back or queued again. A time in
-- the future, because the clock was set back, counts as now.
-- ARGV    the keys
-- RETURN  per key: ms; -1: since it was submitted, as far as Redis knows
-- REFUSE  -
-- MOVES   -
-- REPEAT  returns the same, plus the time since
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

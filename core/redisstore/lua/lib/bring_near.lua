-- Heartbeats that reach further than any beat may were given by a clock that was set back
-- since: who died then would not be late before it is as late again. They get the longest beat, and
-- it is noted that the clock was set back.
local function bring_near(clock)
  local longest = clock + 60000
  for _, key in ipairs({ K.owners, K.hosts }) do
    local far = redis.call('ZRANGEBYSCORE', key, '(' .. int(longest), '+inf')
    if #far > 0 then
      pass_when_full()
      redis.call('HSET', K.meta, 'back_at', int(clock))
      for _, member in ipairs(far) do
        redis.call('ZADD', key, 'XX', longest, member)
      end
    end
  end
end

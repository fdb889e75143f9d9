-- A due time of a heartbeat further ahead than any beat allows was written before the clock was set
-- back: an owner that died then would not be late before the clock has caught up. Reduce such times
-- to the longest beat, some at a time, and record that the clock was set back.
local function bring_near(clock)
  local longest = clock + 60000
  for _, key in ipairs({ K.owners, K.hosts }) do
    local far = redis.call('ZRANGEBYSCORE', key, '(' .. int(longest), '+inf', 'LIMIT', 0, 250)
    if #far > 0 then
      pass_when_full()
      redis.call('HSET', K.meta, 'back_at', int(clock))
      local near = {}
      for i, member in ipairs(far) do
        near[2 * i - 1], near[2 * i] = longest, member
      end
      redis.call('ZADD', key, 'XX', unpack(near))
    end
  end
end

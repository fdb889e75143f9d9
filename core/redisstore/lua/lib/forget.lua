-- Remove the records of ended requests or tasks; their moves end with the given result.
local function forget(keys, how, clock, why)
  if redis.call('EXISTS', K.attempts, K.cancels, K.deaths, K.shun, K.waits, K.evacuations) == 0 then
    return
  end
  redis.call('HDEL', K.attempts, unpack(keys))
  redis.call('HDEL', K.cancels, unpack(keys))
  redis.call('HDEL', K.deaths, unpack(keys))
  redis.call('HDEL', K.shun, unpack(keys))
  redis.call('HDEL', K.waits, unpack(keys))
  local records = redis.call('HMGET', K.evacuations, unpack(keys))
  for i = 1, #keys do
    evacuated(keys[i], records[i], how, clock, why)
  end
end

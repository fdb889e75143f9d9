-- Requeue retries whose pause is over, a batch at a time: after the second fault to another host
-- than the last one, if one has a clean VM to spare, else to the front of the queue. A pause longer
-- than the maximum was begun before the clock was set back: it is over. Returns which.
local function promote(clock)
  local due = redis.call('ZRANGEBYSCORE', K.later, 0, clock, 'LIMIT', 0, 32)
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', K.later, int(clock + 300000), '+inf', 'LIMIT', 0, 32)) do
    due[#due + 1] = key
  end
  if #due == 0 then
    return due
  end
  local apart = marked(due)
  redis.call('ZREM', K.later, unpack(due))
  local tries, shunned = redis.call('HMGET', K.attempts, unpack(due)), redis.call('HMGET', K.shun, unpack(due))
  local spare = {}
  for i = #due, 1, -1 do
    local pool, host = spec_head(due[i]), nil
    if pool and not apart[i] and shunned[i] and tonumber(tries[i] or 0) >= 2 then
      spare[pool] = spare[pool] or spares(pool, clock)
      host = elsewhere(spare[pool], shunned[i])
    end
    if host then
      assign(pool, due[i], shunned[i], host, clock, 'its last fault was on ' .. shunned[i])
    else
      requeue(due[i], clock)
    end
  end
  return due
end

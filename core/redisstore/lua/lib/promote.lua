-- Let retries go whose pause is over, a batch at a time: after the second fault to another
-- host than that of the last one, if one has a clean VM to spare, else to the front of the
-- queue. Answers which.
local function elsewhere(pool, shunned, clock)
  local best, most = nil, 0
  for _, host in ipairs(redis.call('ZRANGEBYSCORE', K.hosts, clock, '+inf')) do
    if host ~= shunned then
      local spare = redis.call('LLEN', K.clean(host, pool)) - redis.call('LLEN', K.aimed(host, pool))
      if spare > most and able(host) then
        best, most = host, spare
      end
    end
  end
  return best
end
local function promote(clock)
  local due = redis.call('ZRANGEBYSCORE', K.later, 0, clock, 'LIMIT', 0, 64)
  if #due == 0 then
    return due
  end
  redis.call('ZREM', K.later, unpack(due))
  local tries, shunned = redis.call('HMGET', K.attempts, unpack(due)), redis.call('HMGET', K.shun, unpack(due))
  for i = #due, 1, -1 do
    local pool = spec_head(due[i])
    local host = pool and shunned[i] and tonumber(tries[i] or 0) >= 2 and elsewhere(pool, shunned[i], clock)
    if host then
      aim(pool, due[i], shunned[i], host, clock, 'its last fault was on ' .. shunned[i])
    else
      requeue(due[i], clock)
    end
  end
  return due
end

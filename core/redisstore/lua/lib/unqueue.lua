-- Take a request out of its queue. Returns whether it was in one.
local function unqueue(key, pool, priority, submitter, due)
  local line = queued(key, pool, priority, submitter, due)
  if not line then
    return false
  end
  local queue = K.queue(pool, line, submitter)
  redis.call('LREM', queue, 1, key)
  if redis.call('EXISTS', queue) == 0 then
    redis.call('LREM', K.turns(pool, line), 0, submitter)
  end
  return true
end

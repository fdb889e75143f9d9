-- Take a request out of its queue. Returns whether it was in one.
local function unqueue(key, pool, priority, submitter, due)
  local line = priority
  local queue = K.queue(pool, line, submitter)
  local n = redis.call('LREM', queue, 1, key)
  if n == 0 and due then
    line = priority .. '-soon'
    queue = K.queue(pool, line, submitter)
    n = redis.call('LREM', queue, 1, key)
  end
  if n == 1 and redis.call('EXISTS', queue) == 0 then
    redis.call('LREM', K.turns(pool, line), 0, submitter)
  end
  return n == 1
end

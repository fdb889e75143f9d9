-- In which line's queue a request is, and how many of its submitter's are before it; nil if it is
-- in none. One that is due at some time may have changed its line.
local function queued(key, pool, priority, submitter, due)
  local line = priority
  local at = redis.call('LPOS', K.queue(pool, line, submitter), key)
  if not at and due then
    line = priority .. '-soon'
    at = redis.call('LPOS', K.queue(pool, line, submitter), key)
  end
  if at then
    return line, at
  end
end

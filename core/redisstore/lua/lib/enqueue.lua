-- The only place that adds to a queue: a submitter is in its turns exactly once if it has waiting
-- requests.
local function enqueue(pool, priority, submitter, keys, front)
  local push = front and 'LPUSH' or 'RPUSH'
  local queue = K.queue(pool, priority, submitter)
  -- As long as what was pushed: it was empty.
  if redis.call(push, queue, unpack(keys)) == #keys then
    redis.call(push, K.turns(pool, priority), submitter)
  end
end

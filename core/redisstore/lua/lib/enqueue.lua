-- The only place that adds to a queue: a submitter is in the turns of a line exactly once if it has
-- requests waiting there.
local function enqueue(pool, line, submitter, keys, front)
  local push = front and 'LPUSH' or 'RPUSH'
  local queue = K.queue(pool, line, submitter)
  -- As long as what was pushed: it was empty.
  if redis.call(push, queue, unpack(keys)) == #keys then
    redis.call(push, K.turns(pool, line), submitter)
  end
end

-- The one way into a queue: a submitter is in its turns exactly once if it waits.
local function enqueue(pool, class, submitter, keys, front)
  local push = front and 'LPUSH' or 'RPUSH'
  local queue = K.queue(pool, class, submitter)
  -- As long as what was pushed: it was empty.
  if redis.call(push, queue, unpack(keys)) == #keys then
    redis.call(push, K.turns(pool, class), submitter)
  end
end

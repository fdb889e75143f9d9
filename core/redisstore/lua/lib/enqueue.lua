-- The one way into a queue: a submitter is in its turns exactly once if it waits.
local function enqueue(pool, class, submitter, keys, front)
  local push = front and 'LPUSH' or 'RPUSH'
  local queue = K.queue(pool, class, submitter)
  local fresh = redis.call('EXISTS', queue) == 0
  redis.call(push, queue, unpack(keys))
  if fresh then
    redis.call(push, K.turns(pool, class), submitter)
  end
end

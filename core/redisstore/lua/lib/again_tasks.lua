-- Put tasks back, the first of them to the front: a retry uses an attempt and waits its delay,
-- later only waits, a release waits no longer.
local function again_tasks(items, clock)
  for i = #items, 1, -1 do
    local key = items[i][1]
    local word, delay = string.match(items[i][2], '^(%l+)(%d*)')
    if redis.call('HEXISTS', K.tasks, key) == 1 then
      if word == 'retry' then
        redis.call('HINCRBY', K.attempts, key, 1)
      end
      if word == 'release' then
        enqueue_task(key, true)
      else
        redis.call('ZADD', K.tasks_later, int(clock + (tonumber(delay) or 0)), key)
        ring(K.tasks_bell)
      end
    end
  end
end

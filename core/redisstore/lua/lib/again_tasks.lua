-- Put tasks back: a retry uses an attempt and waits its delay, a release goes first.
local function again_tasks(items, clock)
  for i = 1, #items do
    local id, outcome = items[i][1], items[i][2]
    if redis.call('HEXISTS', K.tasks, id) == 1 then
      if string.sub(outcome, 1, 5) == 'retry' then
        redis.call('HINCRBY', K.attempts, id, 1)
        redis.call('ZADD', K.tasks_later, clock + (tonumber(string.sub(outcome, 6)) or 0), id)
      else
        redis.call('LPUSH', K.tasks_queue, id)
      end
      ring(K.tasks_bell)
    end
  end
end

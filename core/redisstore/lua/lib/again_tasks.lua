-- Put tasks back, the first of them to the front: a retry uses an attempt and waits its delay,
-- later only waits, a release waits no longer. A retry whose owner was lost waits from the second
-- on, longer each time.
local function again_tasks(items, clock, how)
  for i = #items, 1, -1 do
    local key = items[i][1]
    local word, delay = string.match(items[i][2], '^(%l+)(%d*)')
    if redis.call('HEXISTS', K.tasks, key) == 1 then
      delay = tonumber(delay) or 0
      if word == 'retry' then
        local step = redis.call('HINCRBY', K.attempts, key, 1) - 2
        if how.late and step >= 0 then
          delay = math.max(delay, 250 * 4 ^ math.min(step, 5))
        end
      end
      if word == 'release' then
        enqueue_task(key, true)
      else
        pause_task(key, delay, clock)
        ring(K.tasks_bell)
      end
    end
  end
end

-- Requeue tasks, the first of them at the front. A retry uses an attempt and waits for its delay,
-- later only waits, a release does not wait. A retry after the loss of the owner waits from the
-- second on, longer each time.
local function again_tasks(items, clock, how)
  for i = #items, 1, -1 do
    local key = items[i][1]
    local word, delay = outcome_parts(items[i][2])
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

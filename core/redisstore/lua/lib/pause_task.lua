-- Delay a task by the given ms from now on.
local function pause_task(key, delay, clock)
  redis.call('ZADD', K.tasks_later, int(clock + delay), key)
  redis.call('ZADD', K.tasks_paused, int(clock), key)
end

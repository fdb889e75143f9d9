-- End the delay of a task. Returns 1 if it had one.
local function unpause_task(key)
  redis.call('ZREM', K.tasks_paused, key)
  return redis.call('ZREM', K.tasks_later, key)
end

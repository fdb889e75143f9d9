-- Let a task wait for no time any more. Answers 1 if it did.
local function unpause_task(key)
  redis.call('ZREM', K.tasks_paused, key)
  return redis.call('ZREM', K.tasks_later, key)
end

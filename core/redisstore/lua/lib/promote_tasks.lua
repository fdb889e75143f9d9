-- Queue delayed tasks that are due, a batch at a time. A pause that begins in the future was begun
-- before the clock was set back: it is over. Returns which.
local function promote_tasks(clock)
  local due = redis.call('ZRANGEBYSCORE', K.tasks_later, 0, clock, 'LIMIT', 0, 64)
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', K.tasks_paused, '(' .. int(clock), '+inf', 'LIMIT', 0, 64)) do
    due[#due + 1] = key
  end
  local gone = {}
  for _, key in ipairs(due) do
    if unpause_task(key) == 1 then
      enqueue_task(key, false)
      gone[#gone + 1] = key
    end
  end
  return gone
end

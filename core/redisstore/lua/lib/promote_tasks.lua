-- Let delayed tasks go that are due, a batch at a time. Answers which.
local function promote_tasks(clock)
  local due = redis.call('ZRANGEBYSCORE', K.tasks_later, 0, clock, 'LIMIT', 0, 64)
  if #due > 0 then
    redis.call('ZREM', K.tasks_later, unpack(due))
    for i = 1, #due do
      enqueue_task(due[i], false)
    end
  end
  return due
end

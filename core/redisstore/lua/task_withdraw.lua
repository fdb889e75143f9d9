-- Remove a waiting or delayed task whose end is in the result store.
-- ARGV    1 key
-- RETURN  1, or 0 if it is neither
-- REFUSE  -
-- MOVES   task queued→cancelled, delayed→cancelled
-- REPEAT  the second run returns 0
local key = ARGV[1]
local priority, kind, lane = task_head(key)
if not priority then
  return 0
end
if unpause_task(key) == 0 then
  if redis.call('LREM', K.tasks_queue(priority, kind, lane), 1, key) == 0 then
    return 0
  end
  count('tasks:' .. priority .. ':' .. kind, -1)
  right_task_turn(priority, kind, lane)
end
redis.call('HDEL', K.tasks, key)
redis.call('HDEL', K.tasks_progress, key)
withdrawn(key)
return 1

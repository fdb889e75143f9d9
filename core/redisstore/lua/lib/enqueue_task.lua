-- The only place that adds to the queue of a task's lane: a lane is among its kind's exactly once
-- if it has waiting tasks, and a kind among its priority's exactly once if it has lanes. Returns
-- whether the task is known.
local function enqueue_task(key, front)
  local push = front and 'LPUSH' or 'RPUSH'
  local priority, kind, lane = task_head(key)
  if not priority then
    return false
  end
  -- The first of each: there was none before.
  if redis.call(push, K.tasks_queue(priority, kind, lane), key) == 1 and
    redis.call(push, K.tasks_lanes(priority, kind), lane) == 1 then
    redis.call(push, K.tasks_kinds(priority), kind)
  end
  count('tasks:' .. priority .. ':' .. kind, 1)
  ring(K.tasks_bell)
  return true
end

-- Make the turns of a lane and its kind agree with their waiting tasks.
local function agree(turns, name, waits)
  if #redis.call('LPOS', turns, name, 'COUNT', 0) ~= waits then
    redis.call('LREM', turns, 0, name)
    if waits == 1 then
      redis.call('RPUSH', turns, name)
    end
  end
end
local function right_task_turn(priority, kind, lane)
  agree(K.tasks_lanes(priority, kind), lane, redis.call('EXISTS', K.tasks_queue(priority, kind, lane)))
  agree(K.tasks_kinds(priority), kind, redis.call('EXISTS', K.tasks_lanes(priority, kind)))
end

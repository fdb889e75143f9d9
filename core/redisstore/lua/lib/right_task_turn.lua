-- Make the turns of a lane and its kind agree with whether anything of them waits.
local function agree(turns, name, waits)
  if #redis.call('LPOS', turns, name, 'COUNT', 0) ~= waits then
    redis.call('LREM', turns, 0, name)
    if waits == 1 then
      redis.call('RPUSH', turns, name)
    end
  end
end
local function right_task_turn(class, kind, lane)
  agree(K.tasks_lanes(class, kind), lane, redis.call('EXISTS', K.tasks_queue(class, kind, lane)))
  agree(K.tasks_kinds(class), kind, redis.call('EXISTS', K.tasks_lanes(class, kind)))
end

-- Queue an accepted task, or delay it until its time; a task that Redis has, or that ended
-- recently, stays as it is.
-- ARGV    1 key, 2 priority, kind, lane and itself as JSON, with spaces between, 3 ms before which it
--         does not begin, or 0
-- RETURN  ok, have or ended
-- REFUSE  -
-- MOVES   task →queued, →delayed
-- REPEAT  the second run returns have
local key, due = ARGV[1], tonumber(ARGV[3])
if has_tombstone({ key })[1] == 1 then
  return 'ended'
end
if redis.call('HSETNX', K.tasks, key, ARGV[2]) == 0 then
  return 'have'
end
if due > now() then
  redis.call('ZADD', K.tasks_later, due, key)
  -- An idle taskrunner finds out how long to wait.
  ring(K.tasks_bell)
else
  enqueue_task(key, false)
end
event('task', '-', key)
return 'ok'

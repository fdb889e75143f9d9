-- Queue an accepted task; one that Redis has, or that ended lately, stays as it is.
-- ARGV    1 id, 2 itself as JSON
-- RETURN  ok, have or ended
-- REFUSE  -
-- MOVES   -
-- REPEAT  the second run answers have
if entombed({ ARGV[1] })[1] == 1 then
  return 'ended'
end
if redis.call('HSETNX', K.tasks, ARGV[1], ARGV[2]) == 0 then
  return 'have'
end
redis.call('RPUSH', K.tasks_queue, ARGV[1])
ring(K.tasks_bell)
event('task', '-', ARGV[1])
return 'ok'

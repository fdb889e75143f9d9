-- Put a task right that an audit found in no place or in several: who has it in hand keeps it,
-- else it waits; one that is not known goes.
-- ARGV    1 task
-- RETURN  1
-- REFUSE  -
-- MOVES   -
-- REPEAT  puts it right again
local task = ARGV[1]
pass_when_full()
redis.call('LREM', K.tasks_queue, 0, task)
redis.call('ZREM', K.tasks_later, task)
if redis.call('HEXISTS', K.tasks, task) == 1 and not holder(task) then
  redis.call('LPUSH', K.tasks_queue, task)
  ring(K.tasks_bell)
end
event('mend', '-', task)
return 1

-- Put a task right that a consistency check found in no place, in several or in a wrong one: who has it in
-- hand keeps it, else it waits at the front of its queue; one that is not known goes.
-- ARGV    1 key, 2 number of queues that it may be in by mistake, then they: priority, kind, lane, ...,
--         then the kinds that it may count for by mistake
-- RETURN  1
-- REFUSE  -
-- MOVES   task →queued, delayed→queued
-- REPEAT  puts it right again
local key, queues = ARGV[1], tonumber(ARGV[2])
local places = { { task_head(key) } }
for i = 1, queues do
  places[#places + 1] = { ARGV[3 * i], ARGV[3 * i + 1], ARGV[3 * i + 2] }
end
pass_when_full()
for _, its in ipairs(places) do
  local n = its[1] and redis.call('LREM', K.tasks_queue(its[1], its[2], its[3]), 0, key) or 0
  if n > 0 then
    count('tasks:' .. its[1] .. ':' .. its[2], -n)
    right_task_turn(its[1], its[2], its[3])
  end
end
unpause_task(key)
for i = 3 + 3 * queues, #ARGV do
  redis.call('SREM', K.tasks_hand(ARGV[i]), key)
end
local owner = holder(key, 'taskrunner')
local kind = owner and held(redis.call('HGET', K.slots(owner), key))
if kind then
  redis.call('SADD', K.tasks_hand(kind), key)
elseif not owner then
  redis.call('HDEL', K.tasks_progress, key)
  enqueue_task(key, true)
end
event('mend', '-', key)
return 1

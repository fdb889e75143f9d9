-- Correct a task that a consistency check found in no place, in several or in a wrong one: if an
-- owner holds it, it stays there, else it waits at the front of its queue; an unknown one is
-- removed.
-- ARGV    1 key, 2 number of queues that it may be in by mistake, then they: priority, kind, lane, ...,
--         then their number, and the owners in whose slots it was found, then the kinds that it may count for by
--         mistake
-- RETURN  1
-- REFUSE  -
-- MOVES   task →queued, delayed→queued
-- REPEAT  corrects it again
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
local kinds = 4 + 3 * queues + tonumber(ARGV[3 + 3 * queues])
for i = 4 + 3 * queues, kinds - 1 do
  if redis.call('HEXISTS', K.slots(ARGV[i]), key) == 1 then
    hold({ key }, ARGV[i])
  end
end
for i = kinds, #ARGV do
  redis.call('SREM', K.tasks_hand(ARGV[i]), key)
end
local owner, text = holder(key)
local slot = R.slot(text)
if slot then
  redis.call('SADD', K.tasks_hand(slot.what), key)
elseif not owner then
  redis.call('HDEL', K.tasks_progress, key)
  enqueue_task(key, true)
end
event('mend', '-', key)
return 1

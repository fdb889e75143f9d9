-- Note how far a task in a slot is, and that its owner will be heard of again.
-- ARGV    1 owner, 2 epoch, 3 key, 4 token, 5 done|total|text, 6 ms within which it ends or is heard
--         of again; 0: a task's own time
-- RETURN  1
-- REFUSE  FENCED STALE
-- MOVES   -
-- REPEAT  notes the same again, from then on
local owner, key = ARGV[1], ARGV[3]
if redis.call('HGET', K.owner(owner), 'epoch') ~= ARGV[2] then
  return fail('FENCED', owner)
end
local slot = redis.call('HGET', K.slots(owner), key)
local kind, token, since
if slot then
  kind, token, since = held(slot)
end
if token ~= ARGV[4] then
  return fail('STALE', key)
end
pass_when_full()
local began = string.match(redis.call('HGET', K.tasks_progress, key) or '', '^%d+') or since
redis.call('HSET', K.slots(owner), key, kind .. slot_tail(token, int(now()), 'task', ARGV[6]))
redis.call('HSET', K.tasks_progress, key, began .. '|' .. ARGV[5])
return 1

-- Remove a slot that cannot be read, or whose token its owner never had. Its content is then found
-- in no place, and corrected as such.
-- ARGV    1 owner, 2 key
-- RETURN  1, or 0 if there is nothing wrong with it
-- REFUSE  -
-- MOVES   -
-- REPEAT  if the slot is gone, returns 0
local slot = redis.call('HGET', K.slots(ARGV[1]), ARGV[2])
local its = R.slot(slot)
local epoch = tonumber(string.match(its and its.token or '', '^(%d+)%.%d+$') or 0)
if not slot or epoch > 0 and epoch <= tonumber(redis.call('HGET', K.owner(ARGV[1]), 'epoch') or 0) then
  return 0
end
redis.call('HDEL', K.slots(ARGV[1]), ARGV[2])
local holds_it = R.held(redis.call('HGET', K.held, ARGV[2]))
if holds_it and holds_it.owner == ARGV[1] then
  redis.call('HDEL', K.held, ARGV[2])
end
note_rest({ ARGV[2] }, now())
ring(K.notice(ARGV[1]))
event('mend', '-', ARGV[2])
return 1

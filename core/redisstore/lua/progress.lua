-- Note that a claim entered a phase.
-- ARGV    1 owner, 2 epoch, 3 key, 4 token, 5 phase
-- RETURN  1
-- REFUSE  FENCED STALE
-- MOVES   request claimed→running
-- REPEAT  sets the same phase again
local owner, key = ARGV[1], ARGV[3]
if redis.call('HGET', K.owner(owner), 'epoch') ~= ARGV[2] then
  return fail('FENCED', owner)
end
local slot = redis.call('HGET', K.slots(owner), key)
local vm, token
if slot then
  vm, token = held(slot)
end
if token ~= ARGV[4] then
  return fail('STALE', key)
end
pass_when_full()
redis.call('HSET', K.slots(owner), key, vm .. '|' .. token .. '|' .. now() .. '|' .. ARGV[5])
event(ARGV[5], owner, key)
return 1

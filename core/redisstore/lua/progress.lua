-- Note that a claim entered a phase, or goes on in it.
-- ARGV    1 owner, 2 epoch, 3 key, 4 token, 5 phase, 6 ms within which it ends or is heard of
--         again; 0: the phase's own time
-- RETURN  1
-- REFUSE  FENCED STALE
-- MOVES   request claimed→running
-- REPEAT  sets the same phase again, from then on
local owner, key = ARGV[1], ARGV[3]
if redis.call('HGET', K.owner(owner), 'epoch') ~= ARGV[2] then
  return fail('FENCED', owner)
end
local slot = redis.call('HGET', K.slots(owner), key)
local vm, token, phase, _
if slot then
  vm, token, _, phase = held(slot)
end
if token ~= ARGV[4] then
  return fail('STALE', key)
end
pass_when_full()
redis.call('HSET', K.slots(owner), key, vm .. slot_tail(token, int(now()), ARGV[5], ARGV[6]))
if phase ~= ARGV[5] then
  event(ARGV[5], owner, key)
end
return 1

-- Record that a claim entered a phase, or renew its phase.
-- ARGV    1 owner, 2 epoch, 3 key, 4 token, 5 phase, 6 ms within which it ends or is
--         renewed; 0: the phase's own time
-- RETURN  1
-- REFUSE  FENCED STALE
-- MOVES   request claimed→running
-- REPEAT  sets the same phase again, from then on
local owner, key, phase = ARGV[1], ARGV[3], ARGV[5]
local its, refused = own_slot(owner, ARGV[2], key, ARGV[4])
if refused then
  return refused
end
pass_when_full()
if its.phase ~= phase then
  event(phase, owner, key)
end
its.since, its.phase, its.limit = now(), phase, tonumber(ARGV[6])
redis.call('HSET', K.slots(owner), key, W.slot(its))
return 1

-- End the epoch of an owner whose process is known to be gone: its writes in flight are refused.
-- What it held met a death, also if it was fenced before.
-- ARGV    1 owner, 2 the epoch of that process
-- RETURN  the epoch under which its slots are settled; 0 if they were, and the owner forgotten
-- REFUSE  NOTFOUND CONFLICT
-- MOVES   -
-- REPEAT  returns the same epoch, or NOTFOUND once the owner is removed; records no second death
local owner = ARGV[1]
local due = tonumber(redis.call('ZSCORE', K.owners, owner) or -1)
local hand = R.hand(redis.call('HGET', K.hands, owner))
local kept = hand and hand.epoch == tonumber(ARGV[2])
if due < 0 and not kept then
  return fail('NOTFOUND', owner)
end
local epoch = redis.call('HGET', K.owner(owner), 'epoch')
if due > 0 and epoch ~= ARGV[2] then
  return fail('CONFLICT', owner)
end
if due > 0 then
  pass_when_full()
  epoch = end_epoch(owner, now())
  event('declare_dead', owner, tostring(epoch))
  blame(owner)
elseif kept then
  pass_when_full()
  blame(owner)
end
return due < 0 and 0 or tonumber(epoch)

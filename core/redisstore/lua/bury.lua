-- End the epoch of an owner whose process is known to be gone: nothing that is still on its
-- way is accepted.
-- ARGV    1 owner, 2 the epoch of that process
-- RETURN  the epoch under which its slots are settled
-- REFUSE  NOTFOUND CONFLICT
-- MOVES   -
-- REPEAT  answers the same epoch
local owner = ARGV[1]
local due = redis.call('ZSCORE', K.owners, owner)
if not due then
  return fail('NOTFOUND', owner)
end
local epoch = redis.call('HGET', K.owner(owner), 'epoch')
if tonumber(due) == 0 then
  return tonumber(epoch)
end
if epoch ~= ARGV[2] then
  return fail('CONFLICT', owner)
end
pass_when_full()
epoch = end_epoch(owner, now())
event('bury', owner, tostring(epoch))
return epoch

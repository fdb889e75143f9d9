-- End the epoch of a late owner: its later writes are refused.
-- ARGV    1 owner, 2 late by ms
-- RETURN  the epoch under which its slots are settled
-- REFUSE  NOTFOUND CONFLICT
-- MOVES   -
-- REPEAT  returns the same epoch
local owner, clock = ARGV[1], now()
local due = redis.call('ZSCORE', K.owners, owner)
if not due then
  return fail('NOTFOUND', owner)
end
if tonumber(due) == 0 then
  return tonumber(redis.call('HGET', K.owner(owner), 'epoch'))
end
if clock - tonumber(due) < tonumber(ARGV[2]) then
  return fail('CONFLICT', owner)
end
pass_when_full()
local epoch = end_epoch(owner, clock)
event('fence', owner, tostring(epoch))
return epoch

-- End the epoch of a late owner: nothing it still writes is accepted.
-- ARGV    1 owner, 2 late by ms
-- RETURN  the epoch under which its slots are settled
-- REFUSE  NOTFOUND CONFLICT
-- MOVES   -
-- REPEAT  answers the same epoch
local owner = ARGV[1]
local due = redis.call('ZSCORE', K.owners, owner)
if not due then
  return fail('NOTFOUND', owner)
end
if tonumber(due) == 0 then
  return tonumber(redis.call('HGET', K.owner(owner), 'epoch'))
end
if now() - tonumber(due) < tonumber(ARGV[2]) then
  return fail('CONFLICT', owner)
end
local epoch = redis.call('HINCRBY', K.epochs, owner, 1)
redis.call('HSET', K.owner(owner), 'epoch', epoch)
redis.call('ZADD', K.owners, 0, owner)
ring(K.notice(owner))
event('fence', owner, tostring(epoch))
return epoch

-- Fence an owner whose records disagree, so that it is reaped; a living one registers again.
-- ARGV    1 owner, 2 role, 3 host
-- RETURN  1, or 0 if they agree
-- REFUSE  -
-- MOVES   -
-- REPEAT  if they agree, returns 0
local owner = ARGV[1]
local epoch, last = redis.call('HGET', K.owner(owner), 'epoch'), redis.call('HGET', K.epochs, owner)
local due = redis.call('ZSCORE', K.owners, owner)
local rooted = redis.call('EXISTS', K.host(ARGV[3])) == 1 or tonumber(due or 1) == 0
pass_when_full()
local on = K.owners_on(ARGV[3])
local listed
if due then
  listed = redis.call('SADD', on, owner)
else
  listed = redis.call('SREM', on, owner)
end
if due and epoch and epoch == last and rooted then
  return listed
end
if tonumber(epoch or 0) > tonumber(last or 0) then
  redis.call('HSET', K.epochs, owner, epoch)
end
redis.call('HSET', K.owner(owner), 'role', ARGV[2], 'host', ARGV[3])
end_epoch(owner, now())
event('mend', '-', owner)
return 1

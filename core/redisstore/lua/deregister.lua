-- Remove an owner that holds nothing: a stopped one, or a fenced one that was emptied.
-- ARGV    1 owner, 2 epoch
-- RETURN  1
-- REFUSE  FENCED CONFLICT
-- MOVES   -
-- REPEAT  the second run returns 1
local owner = ARGV[1]
local epoch = redis.call('HGET', K.owner(owner), 'epoch')
if not epoch then
  return 1
end
if epoch ~= ARGV[2] then
  return fail('FENCED', owner)
end
if redis.call('EXISTS', K.slots(owner)) == 1 then
  return fail('CONFLICT', owner)
end
if redis.call('HGET', K.owner(owner), 'idle') == '1' then
  not_idle(host_of(owner), redis.call('SMEMBERS', K.pools))
end
redis.call('ZREM', K.owners, owner)
redis.call('SREM', K.owners_on(host_of(owner)), owner)
redis.call('DEL', K.owner(owner), K.notice(owner))
event('deregister', owner, '-')
return 1

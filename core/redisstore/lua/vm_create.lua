-- Note VMs that are about to be made, so that a crash leaves them reachable.
-- ARGV    1 owner, 2 epoch, 3 host, 4 pool, then the VMs
-- RETURN  1
-- REFUSE  FENCED
-- MOVES   vm →creating
-- REPEAT  what is noted is skipped
local owner, epoch, host, pool = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if redis.call('HGET', K.owner(owner), 'epoch') ~= epoch then
  return fail('FENCED', owner)
end
pass_when_full()
local clock, slots, names = now(), {}, {}
for i = 5, #ARGV do
  -- One that is known is past its creation.
  if redis.call('HSETNX', K.vms(host), ARGV[i], pool .. '|' .. clock) == 1 then
    slots[#slots + 1], slots[#slots + 2] = ARGV[i], pool .. slot_tail(epoch .. '.0', clock, 'creating')
    names[#names + 1] = ARGV[i]
  end
end
if #names > 0 then
  redis.call('HSET', K.slots(owner), unpack(slots))
  event('create', owner, table.concat(names, ' '))
end
return 1

-- Record VMs that are about to be created, so that they can be found after a crash.
-- ARGV    1 owner, 2 epoch, 3 host, 4 pool, then the VMs
-- RETURN  1
-- REFUSE  FENCED
-- MOVES   vm →creating
-- REPEAT  what is recorded is skipped
local owner, epoch, host, pool = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if redis.call('HGET', K.owner(owner), 'epoch') ~= epoch then
  return fail('FENCED', owner)
end
pass_when_full()
local clock, slots, names = now(), {}, {}
for i = 5, #ARGV do
  -- One that is known is past its creation.
  if redis.call('HSETNX', K.vms(host), ARGV[i], W.vm({ pool = pool, since = clock })) == 1 then
    local slot = { what = pool, token = epoch .. '.0', since = clock, phase = 'creating', limit = 0 }
    slots[#slots + 1], slots[#slots + 2] = ARGV[i], W.slot(slot)
    names[#names + 1] = ARGV[i]
  end
end
if #names > 0 then
  redis.call('HSET', K.slots(owner), unpack(slots))
  event('create', owner, table.concat(names, ' '))
end
return 1

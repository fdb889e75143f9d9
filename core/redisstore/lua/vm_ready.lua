-- End creations: good VMs become clean, once; the others dirty. Wake owners that may want them.
-- ARGV    1 owner, 2 epoch, 3 host, then per VM: itself, 1 if it is good
-- RETURN  how many moved
-- REFUSE  FENCED
-- MOVES   vm creating→clean, creating→dirty
-- REPEAT  what moved is not in its slot any more and is skipped
local owner, host = ARGV[1], ARGV[3]
if redis.call('HGET', K.owner(owner), 'epoch') ~= ARGV[2] then
  return fail('FENCED', owner)
end
local moved = {}
for i = 4, #ARGV, 2 do
  local vm = ARGV[i]
  local slot = R.slot(redis.call('HGET', K.slots(owner), vm))
  if slot and slot.phase == 'creating' then
    redis.call('HDEL', K.slots(owner), vm)
    -- Of a pool that was removed, nobody takes it.
    local good = ARGV[i + 1] == '1' and redis.call('SISMEMBER', K.pools, slot.what) == 1
    if good then
      redis.call('RPUSH', K.clean(host, slot.what), vm)
      ring(K.bell(host))
    else
      redis.call('RPUSH', K.dirty(host), vm)
    end
    moved[#moved + 1] = vm .. '=' .. (good and '1' or '0')
  end
end
if #moved > 0 then
  event('ready', owner, table.concat(moved, ' '))
end
return #moved

-- End destructions: gone, or quarantined with a note because the VM could not be destroyed.
-- ARGV    1 owner, 2 epoch, 3 host, then per VM: itself, the note or nothing
-- RETURN  how many moved
-- REFUSE  FENCED
-- MOVES   vm destroying→gone, destroying→quarantined
-- REPEAT  what moved is not in its slot any more and is skipped
local owner, host = ARGV[1], ARGV[3]
if redis.call('HGET', K.owner(owner), 'epoch') ~= ARGV[2] then
  return fail('FENCED', owner)
end
local moved = {}
for i = 4, #ARGV, 2 do
  local vm = ARGV[i]
  local slot = R.slot(redis.call('HGET', K.slots(owner), vm))
  if slot and slot.phase == 'destroying' then
    redis.call('HDEL', K.slots(owner), vm)
    if ARGV[i + 1] == '' then
      redis.call('HDEL', K.vms(host), vm)
    else
      redis.call('HSET', K.quarantined(host), vm, ARGV[i + 1])
    end
    moved[#moved + 1] = vm .. (ARGV[i + 1] == '' and '' or '=quarantined')
  end
end
if #moved > 0 then
  event('gone', owner, table.concat(moved, ' '))
end
return #moved

-- Take dirty VMs to destroy them.
-- ARGV    1 owner, 2 epoch, 3 host, 4 most, 5 call id
-- RETURN  VMs
-- REFUSE  FENCED
-- MOVES   vm dirty→destroying
-- REPEAT  the same call id returns the same VMs
local owner, epoch, host = ARGV[1], ARGV[2], ARGV[3]
local mine = redis.call('HMGET', K.owner(owner), 'epoch', 'destroy')
if mine[1] ~= epoch then
  return fail('FENCED', owner)
end
local last = R.destroy(mine[2])
if last and last.call == ARGV[5] then
  return words(last.vms)
end
local vms = redis.call('LPOP', K.dirty(host), tonumber(ARGV[4])) or {}
if #vms == 0 then
  return vms
end
local clock, slots = now(), {}
for i, vm in ipairs(vms) do
  local known = R.vm(redis.call('HGET', K.vms(host), vm))
  local what = known and known.pool or '-'
  slots[2 * i - 1] = vm
  slots[2 * i] = W.slot({ what = what, token = epoch .. '.0', since = clock, phase = 'destroying', limit = 0 })
end
redis.call('HSET', K.slots(owner), unpack(slots))
redis.call('HSET', K.owner(owner), 'destroy', W.destroy({ call = ARGV[5], vms = table.concat(vms, ' ') }))
event('destroy', owner, table.concat(vms, ' '))
return vms

-- Take dirty VMs to destroy them.
-- ARGV    1 owner, 2 epoch, 3 host, 4 most, 5 call id
-- RETURN  VMs
-- REFUSE  FENCED
-- MOVES   vm dirty→destroying
-- REPEAT  the same call id answers the same VMs
local owner, epoch, host = ARGV[1], ARGV[2], ARGV[3]
local mine = redis.call('HMGET', K.owner(owner), 'epoch', 'destroy')
if mine[1] ~= epoch then
  return fail('FENCED', owner)
end
local last, names = string.match(mine[2] or '|', '^(.-)|(.*)$')
local vms = {}
if last == ARGV[5] then
  for vm in string.gmatch(names, '%S+') do
    vms[#vms + 1] = vm
  end
  return vms
end
vms = redis.call('LPOP', K.dirty(host), tonumber(ARGV[4])) or {}
if #vms == 0 then
  return vms
end
local clock, slots = now(), {}
for i, vm in ipairs(vms) do
  local known = redis.call('HGET', K.vms(host), vm) or '-|0'
  slots[2 * i - 1] = vm
  slots[2 * i] = string.match(known, '^(.-)|') .. slot_tail(epoch .. '.0', clock, 'destroying')
end
redis.call('HSET', K.slots(owner), unpack(slots))
redis.call('HSET', K.owner(owner), 'destroy', ARGV[5] .. '|' .. table.concat(vms, ' '))
event('destroy', owner, table.concat(vms, ' '))
return vms

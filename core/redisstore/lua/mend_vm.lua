-- Correct a VM that a consistency check found in no place or in several: if an owner has it in a
-- slot, it stays there, else it is destroyed, since a VM that may have been used is never used
-- again. Entries of lists that are not VMs are removed.
-- ARGV    1 its VM, 2 number of pools in whose clean VMs it was found, then they, then the hosts that have it, and
--         those where it was found, each once
-- RETURN  1, or 0 if there is nothing wrong with it
-- REFUSE  -
-- MOVES   vm →dirty, clean→dirty, quarantined→dirty
-- REPEAT  returns 0
local vm, hosts, wrong, known, dirty = ARGV[1], {}, 0, 0, {}
local pools = {}
for i = 3, 2 + tonumber(ARGV[2]) do
  pools[#pools + 1] = ARGV[i]
end
for i = 3 + #pools, #ARGV do
  hosts[#hosts + 1] = ARGV[i]
  known = known + redis.call('HEXISTS', K.vms(ARGV[i]), vm)
end
local slotted = {}
for _, host in ipairs(hosts) do
  for _, owner in ipairs(redis.call('SMEMBERS', K.owners_on(host))) do
    local all = redis.call('HGETALL', K.slots(owner))
    for i = 1, #all, 2 do
      local its = R.slot(all[i + 1])
      if all[i] == vm or its and its.what == vm then
        slotted[host] = true
      end
    end
  end
end
for _, host in ipairs(hosts) do
  local fact, lists, places = R.vm(redis.call('HGET', K.vms(host), vm)), { K.dirty(host) }, 0
  local its = fact and fact.pool
  for _, pool in ipairs(pools) do
    lists[#lists + 1] = K.clean(host, pool)
  end
  if its then
    lists[#lists + 1] = K.clean(host, its)
  end
  local clean = its and redis.call('LPOS', K.clean(host, its), vm)
  for _, list in ipairs(lists) do
    while redis.call('LREM', list, 1, vm) == 1 do
      places = places + 1
    end
  end
  places = places + redis.call('HEXISTS', K.quarantined(host), vm)
  local listed = places > 0
  places = places + (slotted[host] and 1 or 0)
  if its and places == 1 and clean then
    redis.call('RPUSH', K.clean(host, its), vm)
  elseif its and places == 0 and known > 1 then
    redis.call('HDEL', K.vms(host), vm)
    known, wrong = known - 1, 1
  elseif listed or its and places ~= 1 then
    redis.call('HDEL', K.quarantined(host), vm)
    wrong = 1
    if its and not slotted[host] then
      redis.call('RPUSH', K.dirty(host), vm)
      dirty[1] = vm
      ring(K.factory_bell(host))
    end
  end
end
if wrong == 1 then
  event('mend', '-', vm, { vms_now(dirty, {}) })
end
return wrong

-- Mark a host as lost: fence its owners, empty its lists of VMs, and requeue what was assigned to
-- it. Its vmfactory reports the VMs that really exist when it is back. If the host died, its owners
-- died together.
local function lose(host, clock)
  local its = {}
  for _, owner in ipairs(redis.call('SMEMBERS', K.owners_on(host))) do
    if redis.call('ZSCORE', K.owners, owner) ~= '0' then
      its[#its + 1] = owner
    end
  end
  table.sort(its)
  local work = {}
  for _, owner in ipairs(its) do
    if role_of(owner) ~= 'vmfactory' then
      work[#work + 1] = owner
    end
  end
  local _, only = hand(work)
  for _, owner in ipairs(its) do
    end_epoch(owner, clock, only)
  end
  local pools = redis.call('SMEMBERS', K.pools)
  for _, pool in ipairs(never_idle(host, pools)) do
    redis.call('DEL', K.clean(host, pool))
  end
  local vms = redis.call('HKEYS', K.vms(host))
  if #vms > 0 then
    event('lost', '-', host, { 'vms', '=lost ' .. table.concat(vms, ' ') })
  end
  redis.call('DEL', K.dirty(host), K.quarantined(host), K.vms(host), K.bell(host), K.factory_bell(host))
  redis.call('HDEL', K.host(host), 'incarnation', 'canary')
  unassign(host, pools, clock, clock, 'its host was lost too')
end

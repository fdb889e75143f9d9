-- Make the host's VMs agree with what is really there, and let the host claim, unless it is
-- reported failed.
-- ARGV    1 owner, 2 epoch, 3 host, 4 incarnation of Redis, 5 number of VMs found,
--         then per VM: itself, pool, 1 if it is healthy and unused
-- RETURN  {adopted, dirtied, removed}
-- REFUSE  FENCED
-- MOVES   vm →clean, →dirty, clean→dirty, clean→gone, dirty→gone, aside→gone
-- REPEAT  finds nothing left to change
local owner, host = ARGV[1], ARGV[3]
if redis.call('HGET', K.owner(owner), 'epoch') ~= ARGV[2] then
  return fail('FENCED', owner)
end
pass_when_full()
local clock, vms = now(), K.vms(host)
local where = {}
for _, pool in ipairs(redis.call('SMEMBERS', K.pools)) do
  for _, vm in ipairs(redis.call('LRANGE', K.clean(host, pool), 0, -1)) do
    where[vm] = K.clean(host, pool)
  end
end
for _, vm in ipairs(redis.call('LRANGE', K.dirty(host), 0, -1)) do
  where[vm] = K.dirty(host)
end
for _, vm in ipairs(redis.call('HKEYS', K.aside(host))) do
  where[vm] = 'aside'
end
for _, other in ipairs(redis.call('ZRANGE', K.owners, 0, -1)) do
  if string.match(other, '@(.-)#') == host then
    local all = redis.call('HGETALL', K.slots(other))
    for i = 1, #all, 2 do
      local what, _, _, phase = held(all[i + 1])
      if phase == 'creating' or phase == 'destroying' then
        where[all[i]] = 'slot'
      else
        where[what] = 'slot'
      end
    end
  end
end
local found, adopted, dirtied, removed = {}, 0, 0, 0
for i = 0, tonumber(ARGV[5]) - 1 do
  local vm, pool, good = ARGV[6 + 3 * i], ARGV[7 + 3 * i], ARGV[8 + 3 * i] == '1'
  found[vm] = true
  redis.call('HSETNX', vms, vm, pool .. '|' .. clock)
  local place = where[vm]
  local stray = not place
  if place and place == K.clean(host, pool) and not good then
    redis.call('LREM', place, 0, vm)
    stray = true
  end
  if stray then
    if good and redis.call('SISMEMBER', K.pools, pool) == 1 then
      redis.call('RPUSH', K.clean(host, pool), vm)
      adopted = adopted + 1
    else
      redis.call('RPUSH', K.dirty(host), vm)
      dirtied = dirtied + 1
    end
  end
end
local known = redis.call('HKEYS', vms)
for vm, _ in pairs(where) do
  known[#known + 1] = vm
end
for _, vm in ipairs(known) do
  if not found[vm] and where[vm] ~= 'slot' then
    if where[vm] == 'aside' then
      redis.call('HDEL', K.aside(host), vm)
    elseif where[vm] then
      redis.call('LREM', where[vm], 0, vm)
    end
    removed = removed + redis.call('HDEL', vms, vm)
  end
end
if redis.call('HEXISTS', K.host(host), 'failed') == 0 then
  redis.call('HSET', K.host(host), 'incarnation', ARGV[4])
end
if adopted + dirtied + removed > 0 then
  event('reconcile', owner, adopted .. ' ' .. dirtied .. ' ' .. removed)
end
ring(K.bell(host))
ring(K.factory_bell(host))
return { adopted, dirtied, removed }

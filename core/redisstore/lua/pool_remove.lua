-- Remove a pool that no request waits for or runs in; its clean VMs become dirty. The result store has removed it
-- first. If it is a lease's, no request goes there any more.
-- ARGV    1 pool, 2 what it does: remove, ask, or only rest: the pool is removed, and more hosts may have VMs of it,
--         3 claims from the pool before its running requests were counted, 4 how many there were, then some hosts
-- RETURN  {waiting requests, running ones}; if there are some, nothing is removed; waiting -1: something was claimed
--         meanwhile
-- REFUSE  -
-- MOVES   vm clean→dirty
-- REPEAT  the second run finds nothing to remove
local pool, held = ARGV[1], tonumber(ARGV[4])
local _, waiting, counts = waiting_in(pool)
local is = redis.call('SISMEMBER', K.pools, pool) == 1
if waiting + held > 0 or ARGV[2] == 'ask' or is and ARGV[2] == 'rest' then
  return { waiting, held }
end
if is and (redis.call('HGET', K.pool(pool), 'tickets') or '0') ~= ARGV[3] then
  return { -1, held }
end
pass_when_full()
if is then
  redis.call('SREM', K.pools, pool)
  local of = redis.call('HGET', K.pool(pool), 'of')
  if of and redis.call('SISMEMBER', K.pools, of) == 1 then
    set_route(of, pool, nil)
  end
  redis.call('DEL', K.pool(pool), K.promises(pool), K.idle(pool))
  redis.call('HDEL', K.counts, unpack(counts))
end
local dirty, hosts = {}, {}
for i = 5, #ARGV do
  hosts[i - 4] = ARGV[i]
end
for _, host in ipairs(there(hosts, function(host) return K.clean(host, pool) end)) do
  local clean = redis.call('LRANGE', K.clean(host, pool), 0, -1)
  redis.call('RPUSH', K.dirty(host), unpack(clean))
  for _, vm in ipairs(clean) do
    dirty[#dirty + 1] = vm
  end
  redis.call('DEL', K.clean(host, pool))
  ring(K.factory_bell(host))
end
if is or #dirty > 0 then
  event('pool removed', '-', pool, { vms_now(dirty, {}) })
end
return { 0, 0 }

-- Remove a pool that no request waits for or runs in; its clean VMs become dirty. The result store has removed it
-- first. If it is a lease's, no request goes there any more.
-- ARGV    1 pool, 2 whether it only asks (1 or 0)
-- RETURN  {waiting requests, running ones}; if there are some, nothing is removed
-- REFUSE  -
-- MOVES   vm clean→dirty
-- REPEAT  the second run finds nothing to remove
local pool, held = ARGV[1], 0
local _, waiting, counts = waiting_in(pool)
for _, owner in ipairs(owners_of('testrunner')) do
  for _, key in ipairs(redis.call('HKEYS', K.slots(owner))) do
    if spec_head(key) == pool then
      held = held + 1
    end
  end
end
for _, text in ipairs(redis.call('HVALS', K.lent)) do
  local its = R.lent(text)
  if its and its.pool == pool then
    held = held + 1
  end
end
if waiting + held > 0 or ARGV[2] == '1' or redis.call('SISMEMBER', K.pools, pool) == 0 then
  return { waiting, held }
end
pass_when_full()
redis.call('SREM', K.pools, pool)
local of = redis.call('HGET', K.pool(pool), 'of')
if of and redis.call('SISMEMBER', K.pools, of) == 1 then
  set_route(of, pool, nil)
end
redis.call('DEL', K.pool(pool), K.promises(pool), K.idle(pool))
redis.call('HDEL', K.counts, unpack(counts))
local dirty = {}
for _, host in ipairs(redis.call('ZRANGE', K.hosts, 0, -1)) do
  local clean = redis.call('LRANGE', K.clean(host, pool), 0, -1)
  if #clean > 0 then
    for _, vm in ipairs(clean) do
      redis.call('RPUSH', K.dirty(host), vm)
      dirty[#dirty + 1] = vm
    end
    redis.call('DEL', K.clean(host, pool))
    ring(K.factory_bell(host))
  end
end
event('pool removed', '-', pool, { vms_now(dirty, {}) })
return { 0, 0 }

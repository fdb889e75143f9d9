-- Fence a lost host. Its VMs are lost: what is real there, its vmfactory says when it is back.
-- ARGV    1 host, 2 late by ms
-- RETURN  1
-- REFUSE  NOTFOUND CONFLICT
-- MOVES   host suspect→down; vm clean→lost, dirty→lost, aside→lost
-- REPEAT  the second run answers 1
local host = ARGV[1]
local state = redis.call('HGET', K.host(host), 'state')
if not state then
  return fail('NOTFOUND', host)
end
if state == 'down' then
  return 1
end
local due = tonumber(redis.call('ZSCORE', K.hosts, host) or 0)
if state ~= 'suspect' or now() - due < tonumber(ARGV[2]) then
  return fail('CONFLICT', host)
end
local epoch = redis.call('HINCRBY', K.epochs, 'host:' .. host, 1)
redis.call('HSET', K.host(host), 'state', 'down', 'epoch', epoch, 'since', now())
redis.call('HDEL', K.host(host), 'incarnation')
for _, pool in ipairs(redis.call('SMEMBERS', K.pools)) do
  redis.call('DEL', K.clean(host, pool))
  redis.call('SREM', K.idle(pool), host)
end
redis.call('DEL', K.dirty(host), K.aside(host), K.vms(host), K.bell(host), K.factory_bell(host))
event('host down', '-', host)
return 1

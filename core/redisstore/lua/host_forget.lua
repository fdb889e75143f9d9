-- Remove a host that is down and has no owners.
-- ARGV    1 host
-- RETURN  1
-- REFUSE  NOTFOUND CONFLICT
-- MOVES   vm clean→lost, dirty→lost, quarantined→lost; evacuation scheduled→failed
-- REPEAT  the second run refuses NOTFOUND
local host = ARGV[1]
local its = redis.call('HMGET', K.host(host), 'state', 'failed')
local state = its[1]
if not state then
  return fail('NOTFOUND', host)
end
if state ~= 'down' then
  return fail('CONFLICT', host)
end
if redis.call('EXISTS', K.owners_on(host)) == 1 then
  return fail('CONFLICT', host)
end
if its[2] or redis.call('EXISTS', K.vms(host), K.dirty(host), K.quarantined(host)) > 0 then
  -- One that was reported failed may have said what is there.
  lose(host, now())
end
for _, owner in ipairs(redis.call('HKEYS', K.hands)) do
  if host_of(owner) == host then
    redis.call('HDEL', K.hands, owner)
  end
end
redis.call('ZREM', K.hosts, host)
redis.call('SREM', K.suspects, host)
for _, pool in ipairs(redis.call('SMEMBERS', K.pools)) do
  redis.call('SREM', K.idle(pool), host)
end
redis.call('DEL', K.host(host), K.bell(host), K.factory_bell(host))
event('host forget', '-', host)
return 1

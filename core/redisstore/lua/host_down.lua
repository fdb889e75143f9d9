-- Fence a lost host and its owners. Its VMs are lost; its vmfactory reports the VMs that really
-- exist when it is back.
-- ARGV    1 host, 2 late by ms
-- RETURN  1
-- REFUSE  NOTFOUND CONFLICT
-- MOVES   host suspect→down; vm clean→lost, dirty→lost, quarantined→lost; evacuation scheduled→failed
-- REPEAT  the second run returns 1
local host, clock = ARGV[1], now()
local state = redis.call('HGET', K.host(host), 'state')
if not state then
  return fail('NOTFOUND', host)
end
if state == 'down' then
  return 1
end
local due = tonumber(redis.call('ZSCORE', K.hosts, host) or 0)
if state ~= 'suspect' or clock - due < tonumber(ARGV[2]) then
  return fail('CONFLICT', host)
end
pass_when_full()
redis.call('HSET', K.host(host), 'state', 'down', 'epoch', next_epoch('host:' .. host, clock), 'since', clock)
redis.call('SREM', K.suspects, host)
lose(host, clock)
event('host down', '-', host)
return 1

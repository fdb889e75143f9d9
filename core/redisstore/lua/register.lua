-- Start a new epoch of an owner, which fences the one before, and return what that one held. If
-- another process takes the name, the former one has died; the same process is alive.
-- ARGV    1 owner, 2 role, 3 host, 4 machine, 5 pid, 6 version, 7 ms until the next heartbeat
--         8 schema, 9 cpus, 10 memory bytes, 11 disk bytes, 12 which process it is; nothing: not known,
--         13 its epoch that Redis does not accept any more; 0: it begins. If Redis has given the name to nobody since,
--         it has forgotten the owner, and the new epoch is greater
--         14 whether it only clears the host, which stays down if it is: 1 or 0
-- RETURN  {epoch, {key, slot, attempts, who cancelled, pool, deaths that it met, the change that it runs with, ...}}
-- REFUSE  VERSION BUSY FENCED NOTFOUND
-- MOVES   host →up, down→up; vm clean→lost, dirty→lost, quarantined→lost; evacuation scheduled→failed
-- REPEAT  starts one more epoch; only the last one counts
local owner, host, machine = ARGV[1], ARGV[3], ARGV[4]
local schema = redis.call('HGET', K.meta, 'schema')
if schema and schema ~= ARGV[8] then
  return fail('VERSION', schema)
end
local clock, former = now(), tonumber(ARGV[13])
local last = redis.call('HMGET', K.owner(owner), 'former', 'process')
if former > 0 and tonumber(redis.call('HGET', K.epochs, owner) or 0) > former
  and not (last[1] == ARGV[13] and last[2] == ARGV[12]) then
  return fail('FENCED', owner)
end
local its = redis.call('HMGET', K.host(host), 'machine', 'state', 'failed')
local due = tonumber(redis.call('ZSCORE', K.hosts, host) or 0)
if its[1] and its[1] ~= machine and due >= clock then
  return fail('BUSY', host)
end
local clears = ARGV[14] == '1'
if clears and not its[2] then
  return fail('NOTFOUND', host)
end
pass_when_full()
redis.call('HSET', K.meta, 'schema', ARGV[8])
local other = its[1] and its[1] ~= machine
if other then
  -- Another machine under the name of one that is gone: nothing of that one is here.
  lose(host, clock)
end
-- One that is reported failed stays down until it is reported recovered.
if not its[3] and (other or not its[2] or its[2] == 'down') and not clears then
  redis.call('HSET', K.host(host), 'state', 'up', 'epoch', next_epoch('host:' .. host, clock), 'since', clock)
  event('host up', owner, host)
end
redis.call('HSET', K.host(host), 'machine', machine, 'cpu', ARGV[9], 'memory', ARGV[10], 'disk', ARGV[11])
if tonumber(redis.call('ZSCORE', K.owners, owner) or 0) > 0 then
  keep_hand(owner)
end
local before = R.hand(redis.call('HGET', K.hands, owner))
if before and before.process ~= '' and ARGV[12] ~= '' and before.process ~= ARGV[12] and not other then
  blame(owner)
else
  redis.call('HDEL', K.hands, owner)
end
if former > tonumber(redis.call('HGET', K.epochs, owner) or 0) then
  redis.call('HSET', K.epochs, owner, int(former))
end
local epoch = next_epoch(owner, clock)
redis.call('DEL', K.owner(owner))
redis.call('HSET', K.owner(owner), 'role', ARGV[2], 'host', host, 'pid', ARGV[5], 'version', ARGV[6],
  'epoch', epoch, 'since', clock, 'idle', '1', 'process', ARGV[12], 'former', ARGV[13])
end_silence(clock, tonumber(ARGV[7]))
redis.call('ZADD', K.owners, clock + tonumber(ARGV[7]), owner)
redis.call('SADD', K.owners_on(host), owner)
redis.call('ZADD', K.hosts, 'GT', clock + tonumber(ARGV[7]), host)
event('register', owner, tostring(epoch), { 'pid', ARGV[5] })
return { epoch, left(owner) }

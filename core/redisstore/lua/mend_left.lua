-- Remove stale records of a request, task, host or pool: records of one that does not exist,
-- tombstones of one that does, extra entries of a bell, bells and notices without a receiver.
-- ARGV    1 what: note, bell, factory_bell, tasks_bell, notice, idle, pool, tasks_arrivals, hands, 2 its id:
--         of a request or task, host, owner or pool
-- RETURN  1
-- REFUSE  -
-- MOVES   evacuation scheduled→failed, parked→failed, accepted→failed
-- REPEAT  removes nothing more
local what, id = ARGV[1], ARGV[2]
pass_when_full()
if what == 'note' then
  local owner = holder(id)
  if not owner or role_of(owner) ~= 'taskrunner' then
    redis.call('HDEL', K.tasks_progress, id)
  end
  if not owner then
    redis.call('HDEL', K.held, id)
  end
  if not owner or role_of(owner) ~= 'testrunner' then
    note_rest({ id }, now())
  end
  if redis.call('HEXISTS', K.specs, id) + redis.call('HEXISTS', K.tasks, id) == 0 then
    forget({ id }, 'failed', now(), 'it is not there any more')
  else
    redis.call('SREM', K.tombstones, id)
    redis.call('SREM', K.tombstones_old, id)
    redis.call('ZREM', K.dead, id)
    if redis.call('HEXISTS', K.specs, id) == 0 then
      redis.call('HDEL', K.shun, id)
      redis.call('HDEL', K.waits, id)
      redis.call('HDEL', K.evacuations, id)
    end
  end
  return 1
end
if what == 'pool' then
  if redis.call('EXISTS', K.pool(id)) == 1 then
    redis.call('SADD', K.pools, id)
  end
  return 1
end
if what == 'tasks_arrivals' then
  drop_arrivals()
  return 1
end
if what == 'hands' then
  for _, owner in ipairs(redis.call('HKEYS', K.hands)) do
    if redis.call('EXISTS', K.host(host_of(owner))) == 0 then
      redis.call('HDEL', K.hands, owner)
    end
  end
  return 1
end
if what == 'idle' then
  for _, host in ipairs(redis.call('SMEMBERS', K.idle(id))) do
    if not redis.call('ZSCORE', K.hosts, host) then
      redis.call('SREM', K.idle(id), host)
    end
  end
  return 1
end
local bell = what == 'bell' and K.bell(id) or what == 'factory_bell' and K.factory_bell(id) or
  what == 'notice' and K.notice(id) or K.tasks_bell
if what ~= 'tasks_bell' and not redis.call('ZSCORE', what == 'notice' and K.owners or K.hosts, id) then
  redis.call('DEL', bell)
else
  redis.call('LTRIM', bell, 0, 0)
end
return 1

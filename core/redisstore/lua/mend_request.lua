-- Correct a request that a consistency check found in no place, in several, or in a wrong one: if
-- an owner holds it, it stays there, else it waits at the front of its queue; one without a spec is
-- removed.
-- ARGV    1 key, then the places that it was found in: queue, pool, line, submitter; assigned, host, pool;
--         parked or apart, pool; slots, owner; ...
-- RETURN  1
-- REFUSE  -
-- MOVES   request →queued, parked→queued; evacuation scheduled→failed, parked→failed, accepted→failed
-- REPEAT  corrects it again
local key, clock = ARGV[1], now()
pass_when_full()
local pool, priority, submitter = spec_head(key)
local function remove(its_pool, line, its_submitter)
  local n = redis.call('LREM', K.queue(its_pool, line, its_submitter), 0, key)
  if n > 0 then
    count(its_pool .. ':' .. string.match(line, '^%a+'), -n)
    right_turn(its_pool, line, its_submitter)
  end
end
local record = redis.call('HGET', K.evacuations, key)
local its = R.move(record)
local n, at = redis.call('ZREM', K.later, key), 2
while ARGV[at] do
  if ARGV[at] == 'queue' then
    remove(ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
    at = at + 4
  elseif ARGV[at] == 'slots' then
    if redis.call('HEXISTS', K.slots(ARGV[at + 1]), key) == 1 then
      hold({ key }, ARGV[at + 1])
    end
    at = at + 2
  elseif ARGV[at] == 'assigned' then
    n = n + redis.call('LREM', K.assigned(ARGV[at + 1], ARGV[at + 2]), 0, key)
    at = at + 3
  elseif ARGV[at] == 'apart' then
    n = n + redis.call('LREM', K.apart(ARGV[at + 1]), 0, key)
    at = at + 2
  else
    n = n + redis.call('LREM', K.parked(ARGV[at + 1]), 0, key)
    at = at + 2
  end
end
if pool then
  -- It may have moved since it was found.
  remove(pool, priority, submitter)
  remove(pool, priority .. '-soon', submitter)
  n = n + redis.call('LREM', K.parked(pool), 0, key) + redis.call('LREM', K.apart(pool), 0, key)
  if its and its.to ~= '' then
    n = n + redis.call('LREM', K.assigned(its.to, pool), 0, key)
  end
  count(pool .. ':' .. priority, -n)
end
local owner = holder(key)
if not its then
  redis.call('HDEL', K.evacuations, key)
elseif not owner or its.state ~= 'accepted' or its.to ~= host_of(owner) then
  evacuated(key, record, 'failed', clock, 'its record was wrong')
end
if pool and not owner then
  count(pool .. ':' .. priority, 1)
  requeue(key, clock)
end
event('mend', '-', key)
return 1

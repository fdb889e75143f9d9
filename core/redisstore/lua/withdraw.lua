-- Remove a waiting request whose end is in the result store.
-- ARGV    1 key
-- RETURN  1, or 0 if it does not wait
-- REFUSE  -
-- MOVES   request queued→cancelled, queued→timed_out, queued→failed, parked→cancelled, parked→timed_out,
--         parked→failed; evacuation scheduled→failed, parked→failed
-- REPEAT  the second run returns 0
local key = ARGV[1]
local pool, priority, submitter, due = spec_head(key)
if not pool then
  return 0
end
if not unqueue(key, pool, priority, submitter, due) and redis.call('ZREM', K.later, key) == 0 then
  local its = R.move(redis.call('HGET', K.evacuations, key)) or {}
  local list = its.state == 'parked' and K.parked(pool)
    or its.state == 'scheduled' and K.assigned(its.to, pool) or K.apart(pool)
  if redis.call('LREM', list, 1, key) == 0 then
    return 0
  end
end
count(pool .. ':' .. priority, -1)
drop_specs({ key })
withdrawn(key)
return 1

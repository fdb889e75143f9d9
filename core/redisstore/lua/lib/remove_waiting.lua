-- Take a request out of wherever it waits. Returns whether it did.
local function remove_waiting(key)
  local pool, priority, submitter, due = spec_head(key)
  if not pool then
    return false
  end
  if not unqueue(key, pool, priority, submitter, due) and redis.call('ZREM', K.later, key) == 0 then
    local its = R.move(redis.call('HGET', K.evacuations, key)) or {}
    local list = its.state == 'parked' and K.parked(pool)
      or its.state == 'scheduled' and K.assigned(its.to, pool) or K.apart(pool)
    if redis.call('LREM', list, 1, key) == 0 then
      return false
    end
  end
  count(pool .. ':' .. priority, -1)
  return true
end

-- Requeue, in their order, what was assigned to a host at a given time or before, or before the
-- clock was set back. Returns which.
local function unassign(host, pools, before, clock, why)
  local gone = {}
  local function assigned(pool)
    return K.assigned(host, pool)
  end
  for _, pool in ipairs(there(pools, assigned)) do
    local keys = redis.call('LRANGE', K.assigned(host, pool), 0, -1)
    for i = #keys, 1, -1 do
      local record = redis.call('HGET', K.evacuations, keys[i])
      local its = R.move(record)
      local at = its and its.scheduled or 0
      if at <= before or at > clock then
        redis.call('LREM', K.assigned(host, pool), 1, keys[i])
        evacuated(keys[i], record, 'failed', clock, why)
        requeue(keys[i], clock)
        gone[#gone + 1] = keys[i]
      end
    end
  end
  return gone
end

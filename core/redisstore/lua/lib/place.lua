-- Where a request is, as {state, pool, priority, owner, vm, token, since, ahead, submitter, when
-- its next try is due, the host it is assigned to}; nil if Redis does not have it. For calls on behalf of
-- people.
local function place(key)
  local pool, priority, submitter, to_be = spec_head(key)
  if not pool then
    return nil
  end
  local owner, text = holder(key)
  local slot = R.slot(text)
  if slot then
    local phase = redis.call('HEXISTS', K.cancels, key) == 1 and 'cancelling' or slot.phase
    return { phase, pool, priority, owner, slot.what, slot.token, slot.since, 0, submitter, '0', '' }
  end
  local function waits(state, ahead, due, to)
    return { state, pool, priority, '', '', '', '0', ahead, submitter, due, to }
  end
  local _, ahead = queued(key, pool, priority, submitter, to_be)
  if ahead then
    return waits('queued', ahead, '0', '')
  end
  local due = redis.call('ZSCORE', K.later, key)
  if due then
    return waits('queued', 0, int(tonumber(due)), '')
  end
  if redis.call('LPOS', K.apart(pool), key) then
    return waits('queued', 0, '0', '')
  end
  local its = R.move(redis.call('HGET', K.evacuations, key))
  if its and its.state == 'scheduled' then
    return waits('queued', 0, '0', its.to)
  end
  return its and its.state == 'parked' and waits('parked', 0, '0', '') or nil
end

-- Where a request is, as {state, pool, priority, owner, vm, token, since, ahead, submitter, when
-- its next try is due, the host it is assigned to}; nil if Redis does not have it. Looks through
-- the owners, so it is for people's calls.
local function place(key)
  local pool, priority, submitter = spec_head(key)
  if not pool then
    return nil
  end
  for _, owner in ipairs(redis.call('ZRANGE', K.owners, 0, -1)) do
    local slot = string.sub(owner, 1, 11) == 'testrunner@' and redis.call('HGET', K.slots(owner), key)
    if slot then
      local vm, token, since, phase = held(slot)
      if redis.call('HEXISTS', K.cancels, key) == 1 then
        phase = 'cancelling'
      end
      return { phase, pool, priority, owner, vm, token, since, 0, submitter, '0', '' }
    end
  end
  local ahead = redis.call('LPOS', K.queue(pool, priority, submitter), key)
  if ahead then
    return { 'queued', pool, priority, '', '', '', '0', ahead, submitter, '0', '' }
  end
  local due = redis.call('ZSCORE', K.later, key)
  if not due and marked({ key })[1] and redis.call('LPOS', K.apart(pool), key) then
    return { 'queued', pool, priority, '', '', '', '0', 0, submitter, '0', '' }
  end
  local state, _, to = evacuation(redis.call('HGET', K.evacuations, key))
  if due or state == 'scheduled' then
    return { 'queued', pool, priority, '', '', '', '0', 0, submitter,
      due and int(tonumber(due)) or '0', due and '' or to }
  end
  if state == 'parked' then
    return { 'parked', pool, priority, '', '', '', '0', 0, submitter, '0', '' }
  end
  return nil
end

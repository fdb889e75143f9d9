-- Where a request is, as {state, pool, class, owner, vm, token, since, ahead}; nil if
-- Redis does not have it. Looks through the owners, so it is for people's calls.
local function place(key)
  local spec = redis.call('HGET', K.specs, key)
  if not spec then
    return nil
  end
  local s = cjson.decode(spec)
  for _, owner in ipairs(redis.call('ZRANGE', K.owners, 0, -1)) do
    local slot = redis.call('HGET', K.slots(owner), key)
    if slot then
      local vm, token, since, phase = held(slot)
      if redis.call('HEXISTS', K.cancels, key) == 1 then
        phase = 'cancelling'
      end
      return { phase, s.pool, s.class, owner, vm, token, since, 0, s.submitter }
    end
  end
  local ahead = redis.call('LPOS', K.queue(s.pool, s.class, s.submitter), key)
  if ahead then
    return { 'queued', s.pool, s.class, '', '', '', '0', ahead, s.submitter }
  end
  return nil
end

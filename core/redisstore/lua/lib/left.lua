-- What an owner holds, with the data that settling needs: key, slot, attempts, who cancelled, pool,
-- deaths that it met, the ms since its phase began or was renewed, and the change that it runs with.
local function left(owner)
  local all, clock = redis.call('HGETALL', K.slots(owner)), now()
  local meta = redis.call('HMGET', K.meta, 'silent_again', 'back_at')
  local out = {}
  for i = 1, #all, 2 do
    local key = all[i]
    local its = R.slot(all[i + 1])
    out[#out + 1] = key
    out[#out + 1] = all[i + 1]
    out[#out + 1] = redis.call('HGET', K.attempts, key) or '0'
    out[#out + 1] = redis.call('HGET', K.cancels, key) or ''
    out[#out + 1] = spec_head(key) or ''
    out[#out + 1] = redis.call('HGET', K.deaths, key) or ''
    out[#out + 1] = int(age(its and its.since or clock, clock, meta))
    out[#out + 1] = spec_change(redis.call('HGET', K.specs, key))
  end
  return out
end

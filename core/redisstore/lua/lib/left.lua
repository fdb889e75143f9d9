-- What an owner holds, with the data that settling needs: key, slot, attempts, who cancelled, pool,
-- deaths that it met, and the change that it runs with.
local function left(owner)
  local all, out = redis.call('HGETALL', K.slots(owner)), {}
  for i = 1, #all, 2 do
    local key = all[i]
    out[#out + 1] = key
    out[#out + 1] = all[i + 1]
    out[#out + 1] = redis.call('HGET', K.attempts, key) or '0'
    out[#out + 1] = redis.call('HGET', K.cancels, key) or ''
    out[#out + 1] = spec_head(key) or ''
    out[#out + 1] = redis.call('HGET', K.deaths, key) or ''
    out[#out + 1] = spec_change(redis.call('HGET', K.specs, key))
  end
  return out
end

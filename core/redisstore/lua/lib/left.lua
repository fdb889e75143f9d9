-- What an owner holds, with what settling it needs: key, slot, attempts, who cancelled, pool,
-- owners that died with it in hand.
local function left(owner)
  local all = redis.call('HGETALL', K.slots(owner))
  local out = {}
  for i = 1, #all, 2 do
    local key = all[i]
    out[#out + 1] = key
    out[#out + 1] = all[i + 1]
    out[#out + 1] = redis.call('HGET', K.attempts, key) or '0'
    out[#out + 1] = redis.call('HGET', K.cancels, key) or ''
    out[#out + 1] = spec_head(key) or ''
    out[#out + 1] = redis.call('HGET', K.deaths, key) or ''
  end
  return out
end

-- Which of the keys met the death of an owner: each of them runs apart from the others.
local function marked(keys)
  local out = {}
  if #keys == 0 or redis.call('EXISTS', K.deaths) == 0 then
    return out
  end
  for first = 1, #keys, 1000 do
    local deaths = redis.call('HMGET', K.deaths, unpack(keys, first, math.min(first + 999, #keys)))
    for i = 1, #deaths do
      -- A VM that died has no @ in its name, and takes nobody along.
      out[first + i - 1] = deaths[i] and string.find(deaths[i], '@', 1, true) and true or false
    end
  end
  return out
end

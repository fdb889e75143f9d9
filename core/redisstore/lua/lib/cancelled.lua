-- The cancelled requests or tasks that an owner holds, each with who cancelled it.
local function cancelled(owner)
  local out = {}
  local keys = redis.call('HKEYS', K.slots(owner))
  for first = 1, #keys, 1000 do
    local marks = redis.call('HMGET', K.cancels, unpack(keys, first, math.min(first + 999, #keys)))
    for i = 1, #marks do
      if marks[i] then
        out[#out + 1] = keys[first + i - 1]
        out[#out + 1] = marks[i]
      end
    end
  end
  return out
end

-- Note whose slots requests or tasks are in.
local function hold(keys, owner)
  local pairs, its = {}, W.held({ owner = owner })
  for i = 1, #keys do
    pairs[2 * i - 1], pairs[2 * i] = keys[i], its
  end
  redis.call('HSET', K.held, unpack(pairs))
end

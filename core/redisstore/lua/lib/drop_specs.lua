-- The only place that removes specs.
local function drop_specs(keys)
  local bytes = 0
  for i = 1, #keys do
    local length = redis.call('HSTRLEN', K.specs, keys[i])
    bytes = bytes + (length > 0 and weight(keys[i], length) or 0)
  end
  redis.call('HDEL', K.specs, unpack(keys))
  count('bytes', -bytes)
end

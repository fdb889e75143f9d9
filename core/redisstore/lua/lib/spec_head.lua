-- Pool, priority and submitter of a request; nil if Redis does not have it. They precede its spec,
-- which contains user input and is not always JSON that Redis can decode.
local function spec_head(key)
  local spec = redis.call('HGET', K.specs, key)
  if spec then
    return string.match(spec, '^{"id":"[^"]*","gen":%d+,"pool":"([^"]*)","priority":"([^"]*)","submitter":"([^"]*)"')
  end
end

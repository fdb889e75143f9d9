-- Pool, priority, submitter and due time of a request (nil: it is due at no time); nil if Redis does not have
-- it. They precede its spec, which contains user input and is not always JSON that Redis can decode.
local function spec_head(key)
  local spec = redis.call('HGET', K.specs, key)
  if not spec then
    return nil
  end
  local pool, priority, submitter, rest = string.match(spec,
    '^{"id":"[^"]*","gen":%d+,"pool":"([^"]*)","priority":"([^"]*)","submitter":"([^"]*)"()')
  return pool, priority, submitter, rest and string.match(spec, '^,"due":(%d+)', rest)
end

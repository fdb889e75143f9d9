-- Pool, priority and submitter of a request; nil if Redis does not have it. They stand in the
-- head of its spec. What users wrote follows, and not all of it is JSON that Redis can read.
local function spec_head(key)
  local spec = redis.call('HGET', K.specs, key)
  if spec then
    return string.match(spec, '^{"id":"[^"]*","gen":%d+,"pool":"([^"]*)","priority":"([^"]*)","submitter":"([^"]*)"')
  end
end

-- Record that the process of a kept record of held work died: all of it that has not ended met a
-- death, which counts against at most one.
local function blame(owner)
  local its = R.hand(redis.call('HGET', K.hands, owner))
  redis.call('HDEL', K.hands, owner)
  local met = {}
  for _, key in ipairs(words(its and its.keys or '')) do
    if redis.call('HEXISTS', K.specs, key) + redis.call('HEXISTS', K.tasks, key) > 0 then
      local counts = key == its.only and '!' or ''
      died(key, owner .. counts)
      met[#met + 1] = key .. counts
    end
  end
  if #met > 0 then
    event('death', owner, table.concat(met, ' '))
  end
end

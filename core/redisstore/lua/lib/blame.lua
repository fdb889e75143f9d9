-- Note that the process died whose hand was kept: all that was in it and has not ended met a
-- death, which counts against at most one.
local function blame(owner)
  local only, keys = string.match(redis.call('HGET', K.hands, owner) or '', '^.-|%d+|(.-)|(.*)$')
  redis.call('HDEL', K.hands, owner)
  local met = {}
  for key in string.gmatch(keys or '', '%S+') do
    if redis.call('HEXISTS', K.specs, key) + redis.call('HEXISTS', K.tasks, key) > 0 then
      local counts = key == only and '!' or ''
      died(key, owner .. counts)
      met[#met + 1] = key .. counts
    end
  end
  if #met > 0 then
    event('death', owner, table.concat(met, ' '))
  end
end

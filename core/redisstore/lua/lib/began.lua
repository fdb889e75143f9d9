-- When Redis began to serve, ms. If that is still to come, its clock was set back since: it
-- began when that was first seen.
local function began(start, clock)
  if start <= clock then
    return start
  end
  local of, seen = string.match(redis.call('HGET', K.meta, 'set_back') or '', '^(%d+)|(%d+)$')
  if tonumber(of) ~= start or tonumber(seen) > clock then
    pass_when_full()
    seen = clock
    redis.call('HSET', K.meta, 'set_back', int(start) .. '|' .. int(clock))
  end
  return tonumber(seen)
end

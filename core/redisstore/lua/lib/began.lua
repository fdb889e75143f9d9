-- When Redis began to serve, ms. If that is in the future, the clock was set back since: the time
-- when that was noticed counts.
local function began(start, clock)
  if start <= clock then
    return start
  end
  local its = R.set_back(redis.call('HGET', K.meta, 'set_back'))
  if not its or its.start ~= start or its.seen > clock then
    pass_when_full()
    its = { start = start, seen = clock }
    redis.call('HSET', K.meta, 'set_back', W.set_back(its))
  end
  return its.seen
end

-- End the record of a request's move, if there is one: finished or failed.
local function evacuated(key, record, how, clock, why)
  local its = R.move(record)
  if record then
    redis.call('HDEL', K.evacuations, key)
  end
  if its then
    its.key, its.state, its.ended, its.why = key, how, clock, why or its.why
    redis.call('LPUSH', K.evacuated, W.moved(its))
    redis.call('LTRIM', K.evacuated, 0, 999)
  end
end

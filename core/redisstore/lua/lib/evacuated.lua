-- End the record of a request's move, if there is one: finished or failed.
local function evacuated(key, record, how, clock, why)
  local state, from, to, scheduled, accepted, told = evacuation(record)
  if record then
    redis.call('HDEL', K.evacuations, key)
  end
  if state then
    local ended = table.concat({ key, how, from, to, scheduled, accepted, int(clock), why or told }, '|')
    redis.call('LPUSH', K.evacuated, ended)
    redis.call('LTRIM', K.evacuated, 0, 999)
  end
end

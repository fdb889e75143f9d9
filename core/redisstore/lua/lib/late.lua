-- Owners whose proof of life is late by the given ms, fenced ones first. start is when
-- Redis began to serve: nobody is late from before. While most are late at once it is
-- Redis, not they: nobody is late until that has lasted as long as the lateness asked.
local function late(by, start, clock)
  local fenced = redis.call('ZRANGEBYSCORE', K.owners, 0, 0)
  local overdue = redis.call('ZRANGEBYSCORE', K.owners, 1, clock - by)
  local alive = redis.call('ZCARD', K.owners) - #fenced
  if clock - start < by then
    return fenced
  end
  if alive >= 3 and #overdue * 2 > alive then
    local since = tonumber(redis.call('HGET', K.meta, 'mass_late_since') or clock)
    redis.call('HSETNX', K.meta, 'mass_late_since', clock)
    if clock - since < by then
      return fenced
    end
  else
    redis.call('HDEL', K.meta, 'mass_late_since')
  end
  for _, owner in ipairs(overdue) do
    fenced[#fenced + 1] = owner
  end
  return fenced
end

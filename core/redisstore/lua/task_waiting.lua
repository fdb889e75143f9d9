-- Return how many tasks are queued, for every priority and kind, from the counts.
-- ARGV    -
-- RETURN  priority, kind, waiting, lanes, every (µs), burst, most, when the rate lets the next one
--         begin, ms, or 0: now, ...
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local out, us = {}, now() * 1000
for _, priority in ipairs({ 'high', 'normal', 'low' }) do
  for _, kind in ipairs(redis.call('LRANGE', K.tasks_kinds(priority), 0, 999)) do
    local its = task_rate(kind, us)
    local waiting = redis.call('HGET', K.counts, 'tasks:' .. priority .. ':' .. kind) or '0'
    local wait = held_back(its, us)
    local lanes = redis.call('LLEN', K.tasks_lanes(priority, kind))
    local row = { priority, kind, waiting, lanes, its.every, its.burst, its.most,
      wait > 0 and math.ceil((us + wait) / 1000) or 0 }
    for _, value in ipairs(row) do
      out[#out + 1] = value
    end
  end
end
return out

-- Count the tasks in queues, of every class and kind.
-- ARGV    1 most lanes to look at
-- RETURN  class, kind, waiting, lanes, every (µs), burst, most, when the rate lets the next one
--         begin, ms, or 0: now, ...
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local out, look, us = {}, tonumber(ARGV[1]), now() * 1000
for _, class in ipairs({ 'high', 'normal', 'low' }) do
  for _, kind in ipairs(redis.call('LRANGE', K.tasks_kinds(class), 0, 999)) do
    local its, waiting = task_rate(kind, us), 0
    local lanes = redis.call('LRANGE', K.tasks_lanes(class, kind), 0, look)
    look = math.max(0, look - #lanes)
    for _, lane in ipairs(lanes) do
      waiting = waiting + redis.call('LLEN', K.tasks_queue(class, kind, lane))
    end
    local wait = held_back(its, us)
    local row = { class, kind, waiting, redis.call('LLEN', K.tasks_lanes(class, kind)), its.every, its.burst, its.most,
      wait > 0 and math.ceil((us + wait) / 1000) or 0 }
    for _, value in ipairs(row) do
      out[#out + 1] = value
    end
  end
end
return out

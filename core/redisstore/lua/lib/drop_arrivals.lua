-- Forget the rhythm of kinds that have no rate any more.
local function drop_arrivals()
  for _, kind in ipairs(redis.call('HKEYS', K.tasks_arrivals)) do
    if task_rate(kind, 0).every == 0 then
      redis.call('HDEL', K.tasks_arrivals, kind)
    end
  end
end

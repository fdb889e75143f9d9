-- Return how many requests of each priority of pools wait, in any place, from the counts.
-- ARGV    the pools
-- RETURN  pool, priority, waiting, submitters, ...
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local out = {}
for _, pool in ipairs(ARGV) do
  local waiting = waiting_in(pool)
  for i, priority in ipairs(priorities()) do
    local n = #out
    out[n + 1], out[n + 2], out[n + 3], out[n + 4] = pool, priority, waiting[i], 0
    if waiting[i] ~= 0 then
      -- Nobody has a turn where nothing waits.
      out[n + 4] = redis.call('LLEN', K.turns(pool, priority)) + redis.call('LLEN', K.turns(pool, priority .. '-soon'))
    end
  end
end
return out

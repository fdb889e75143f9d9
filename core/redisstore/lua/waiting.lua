-- Return how many requests of every pool and priority wait, in any place, from the counts.
-- ARGV    -
-- RETURN  pool, priority, waiting, submitters, ...
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local out, pools = {}, redis.call('SMEMBERS', K.pools)
table.sort(pools)
for _, pool in ipairs(pools) do
  local waiting = redis.call('HMGET', K.counts, pool .. ':high', pool .. ':normal', pool .. ':low')
  for i, priority in ipairs({ 'high', 'normal', 'low' }) do
    local n = #out
    out[n + 1], out[n + 2], out[n + 3], out[n + 4] = pool, priority, waiting[i] or '0', 0
    if out[n + 3] ~= '0' then
      -- Nobody has a turn where nothing waits.
      out[n + 4] = redis.call('LLEN', K.turns(pool, priority)) + redis.call('LLEN', K.turns(pool, priority .. '-soon'))
    end
  end
end
return out

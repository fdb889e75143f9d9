-- List the pools of leases, and what is in them.
-- ARGV    -
-- RETURN  per pool: itself, settings as JSON, its holders, waiting requests in any place, ...
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local out, pools = {}, redis.call('SMEMBERS', K.pools)
table.sort(pools)
for _, pool in ipairs(pools) do
  local its = string.sub(pool, 1, 6) == 'lease-' and redis.call('HMGET', K.pool(pool), 'settings', 'holders')
  if its and its[2] then
    local n = #out
    out[n + 1], out[n + 2], out[n + 3], out[n + 4] = pool, its[1], its[2], (select(2, waiting_in(pool)))
  end
end
return out

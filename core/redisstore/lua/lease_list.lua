-- List the pools of leases, and what is in them.
-- ARGV    -
-- RETURN  per pool: itself, settings as JSON, its holders, waiting requests in any place, requests in VMs that it
--         lent, ...
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local out, lent = {}, {}
for _, text in ipairs(redis.call('HVALS', K.lent)) do
  local its = R.lent(text)
  if its then
    lent[its.pool] = (lent[its.pool] or 0) + 1
  end
end
local pools = redis.call('SMEMBERS', K.pools)
table.sort(pools)
for _, pool in ipairs(pools) do
  local its = string.sub(pool, 1, 6) == 'lease-' and redis.call('HMGET', K.pool(pool), 'settings', 'holders')
  if its and its[2] then
    local n = #out
    out[n + 1], out[n + 2], out[n + 3] = pool, its[1], its[2]
    out[n + 4], out[n + 5] = (select(2, waiting_in(pool))), lent[pool] or 0
  end
end
return out

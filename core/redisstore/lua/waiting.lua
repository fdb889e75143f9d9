-- Return how many requests of every pool and priority wait, in any place, from the counts.
-- ARGV    -
-- RETURN  pool, priority, waiting, submitters, ...
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local out, pools = {}, redis.call('SMEMBERS', K.pools)
table.sort(pools)
for _, pool in ipairs(pools) do
  for _, priority in ipairs({ 'high', 'normal', 'low' }) do
    out[#out + 1] = pool
    out[#out + 1] = priority
    out[#out + 1] = redis.call('HGET', K.counts, pool .. ':' .. priority) or '0'
    out[#out + 1] = redis.call('LLEN', K.turns(pool, priority)) + redis.call('LLEN', K.turns(pool, priority .. '-soon'))
  end
end
return out

-- Tell how many requests of every pool and class wait, wherever they wait, as it is counted.
-- ARGV    -
-- RETURN  pool, class, waiting, submitters, ...
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local out, pools = {}, redis.call('SMEMBERS', K.pools)
table.sort(pools)
for _, pool in ipairs(pools) do
  for _, class in ipairs({ 'high', 'normal', 'low' }) do
    out[#out + 1] = pool
    out[#out + 1] = class
    out[#out + 1] = redis.call('HGET', K.counts, pool .. ':' .. class) or '0'
    out[#out + 1] = redis.call('LLEN', K.turns(pool, class))
  end
end
return out

-- Count the waiting requests of every pool and class.
-- ARGV    1 most submitters to look at per pool and class
-- RETURN  pool, class, waiting, submitters, ...
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local out = {}
local pools = redis.call('SMEMBERS', K.pools)
table.sort(pools)
for _, pool in ipairs(pools) do
  for _, class in ipairs({ 'high', 'normal', 'low' }) do
    local count = 0
    for _, submitter in ipairs(redis.call('LRANGE', K.turns(pool, class), 0, tonumber(ARGV[1]) - 1)) do
      count = count + redis.call('LLEN', K.queue(pool, class, submitter))
    end
    out[#out + 1] = pool
    out[#out + 1] = class
    out[#out + 1] = count
    out[#out + 1] = redis.call('LLEN', K.turns(pool, class))
  end
end
return out

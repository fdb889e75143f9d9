-- Count the waiting requests of every pool and class, wherever they wait.
-- ARGV    1 most submitters to look at per pool and class, and most requests aimed, parked or
--         pausing
-- RETURN  pool, class, waiting, submitters, ...
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local out, others, most = {}, {}, tonumber(ARGV[1])
local pools = redis.call('SMEMBERS', K.pools)
table.sort(pools)
local function tally(keys)
  for _, key in ipairs(keys) do
    local pool, class = spec_head(key)
    if pool then
      others[pool .. ':' .. class] = (others[pool .. ':' .. class] or 0) + 1
    end
  end
end
tally(redis.call('ZRANGE', K.later, 0, most - 1))
for _, pool in ipairs(pools) do
  tally(redis.call('LRANGE', K.parked(pool), 0, most - 1))
  for _, host in ipairs(redis.call('ZRANGE', K.hosts, 0, -1)) do
    tally(redis.call('LRANGE', K.aimed(host, pool), 0, most - 1))
  end
end
for _, pool in ipairs(pools) do
  for _, class in ipairs({ 'high', 'normal', 'low' }) do
    local count = others[pool .. ':' .. class] or 0
    for _, submitter in ipairs(redis.call('LRANGE', K.turns(pool, class), 0, most - 1)) do
      count = count + redis.call('LLEN', K.queue(pool, class, submitter))
    end
    out[#out + 1] = pool
    out[#out + 1] = class
    out[#out + 1] = count
    out[#out + 1] = redis.call('LLEN', K.turns(pool, class))
  end
end
return out

-- Whether any request waits for the pool.
local function waits(pool)
  return redis.call('EXISTS', K.turns(pool, 'high'), K.turns(pool, 'normal'), K.turns(pool, 'low')) > 0
end

-- Wake owners that may take the next request that runs apart, since one of those may have ended.
local function apart_next(host, clock)
  for _, pool in ipairs(redis.call('SMEMBERS', K.pools)) do
    if redis.call('EXISTS', K.apart(pool)) == 1 then
      ring(K.bell(host))
      wake(pool, 1, clock)
    end
  end
end

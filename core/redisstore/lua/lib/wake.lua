-- Wake up to n living hosts that wanted work of the pool and found none.
local function wake(pool, n, clock)
  local tries = 0
  while n > 0 and tries < 16 do
    tries = tries + 1
    local host = redis.call('SPOP', K.idle(pool))
    if not host then
      return
    end
    local due = redis.call('ZSCORE', K.hosts, host)
    if due and tonumber(due) >= clock then
      ring(K.bell(host))
      n = n - 1
    end
  end
end

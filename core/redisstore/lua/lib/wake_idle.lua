-- Wake up to n living hosts that have a clean VM of the pool and wanted work of it. Returns how many
-- are missing.
local function wake_idle(pool, n, clock)
  for _ = 1, n + 16 do
    local host = n > 0 and redis.call('SPOP', K.idle(pool))
    if not host then
      break
    end
    local due = redis.call('ZSCORE', K.hosts, host)
    if due and tonumber(due) >= clock and redis.call('EXISTS', K.clean(host, pool)) == 1 then
      ring(K.bell(host))
      n = n - 1
    end
  end
  return n
end

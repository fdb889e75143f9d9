-- Hosts that have clean VMs of a pool to spare: {host, how many}. Of many hosts it checks a few in
-- a row, different ones each time, and a few idle ones, since the whole cluster waits for this
-- script.
local function spares(pool, clock)
  local alive, out, seen = redis.call('ZCOUNT', K.hosts, clock, '+inf'), {}, {}
  local function look(host)
    local n = redis.call('LLEN', K.clean(host, pool)) - redis.call('LLEN', K.assigned(host, pool))
    if n > 0 and not seen[host] and able(host) then
      out[#out + 1] = { host, n }
    end
    seen[host] = true
  end
  local first = alive > 32 and clock % alive or 0
  for _, host in ipairs(redis.call('ZRANGEBYSCORE', K.hosts, clock, '+inf', 'LIMIT', first, 32)) do
    look(host)
  end
  for _, host in ipairs(redis.call('SRANDMEMBER', K.idle(pool), 16)) do
    if tonumber(redis.call('ZSCORE', K.hosts, host) or 0) >= clock then
      look(host)
    end
  end
  return out
end

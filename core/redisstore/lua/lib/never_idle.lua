-- Take a host off the idle lists of those pools of which it has clean VMs, and return them: without a clean VM nobody
-- is woken, so in the other lists the host may stay.
local function never_idle(host, pools)
  local clean = clean_in(host, pools)
  for _, pool in ipairs(clean) do
    redis.call('SREM', K.idle(pool), host)
  end
  return clean
end

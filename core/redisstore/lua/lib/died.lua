-- Record a death that a request or task met: of an owner, or of its VM. ! says that it counts
-- against it, ~ that the VM is alive and could not be cleaned.
local function died(key, who)
  local names = words(redis.call('HGET', K.deaths, key) or '')
  names[#names + 1] = who
  redis.call('HSET', K.deaths, key, table.concat(names, ' ', math.max(1, #names - 7)))
end

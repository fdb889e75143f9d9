-- Note a death that a request or task met: of an owner, or of its VM. With ! it counts against it, with
-- ~ the VM lives and did not come clean.
local function died(key, who)
  local before, names = redis.call('HGET', K.deaths, key), {}
  for name in string.gmatch(before or '', '%S+') do
    names[#names + 1] = name
  end
  names[#names + 1] = who
  redis.call('HSET', K.deaths, key, table.concat(names, ' ', math.max(1, #names - 7)))
end

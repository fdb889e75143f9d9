-- Note that an owner died with a request in hand.
local function died(key, owner)
  local before, names = redis.call('HGET', K.deaths, key), {}
  for name in string.gmatch(before or '', '%S+') do
    names[#names + 1] = name
  end
  names[#names + 1] = owner
  redis.call('HSET', K.deaths, key, table.concat(names, ' ', math.max(1, #names - 7)))
end

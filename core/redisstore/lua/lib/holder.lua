-- Which owner holds a request or task, and its slot; nil if none does.
local function holder(key)
  local owner = redis.call('HGET', K.held, key)
  local slot = owner and redis.call('HGET', K.slots(owner), key)
  if slot then
    return owner, slot
  end
end

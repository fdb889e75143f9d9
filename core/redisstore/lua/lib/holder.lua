-- Which owner holds a request or task, and its slot; nil if none does.
local function holder(key)
  local its = R.held(redis.call('HGET', K.held, key))
  local slot = its and redis.call('HGET', K.slots(its.owner), key)
  if slot then
    return its.owner, slot
  end
end

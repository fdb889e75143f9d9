-- Which of the owners holds a request, task or VM, and its slot; nil if none does.
local function holder(key, owners)
  for _, owner in ipairs(owners) do
    local slot = redis.call('HGET', K.slots(owner), key)
    if slot then
      return owner, slot
    end
  end
  return nil
end

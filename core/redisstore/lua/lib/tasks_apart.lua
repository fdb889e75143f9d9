-- Leave an owner one of the tasks that met a death: the others are due again a second later.
local function tasks_apart(owner, keys, kinds, clock)
  local apart = marked(keys)
  if #apart == 0 then
    return keys, kinds
  end
  local mine, its, holds = {}, {}, false
  for _, is in ipairs(marked(redis.call('HKEYS', K.slots(owner)))) do
    holds = holds or is
  end
  for i = 1, #keys do
    if apart[i] and holds then
      pause_task(keys[i], 1000, clock)
    else
      holds = holds or apart[i]
      mine[#mine + 1], its[#its + 1] = keys[i], kinds[i]
    end
  end
  return mine, its
end

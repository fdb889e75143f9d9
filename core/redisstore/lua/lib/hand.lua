-- What owners hold together, and which of it their death would count against: the only item, or the
-- only one that met a death before; '' if there is no such item.
local function hand(owners)
  local keys, only, n = {}, '', 0
  for _, owner in ipairs(owners) do
    for _, key in ipairs(redis.call('HKEYS', K.slots(owner))) do
      keys[#keys + 1] = key
    end
  end
  for i, is in ipairs(marked(keys)) do
    if is then
      only, n = keys[i], n + 1
    end
  end
  if n ~= 1 then
    only = #keys == 1 and keys[1] or ''
  end
  return keys, only
end

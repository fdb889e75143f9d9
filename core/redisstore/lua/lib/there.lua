-- Those of many names under whose key there is something. Of what is mostly not there, one command asks for hundreds,
-- and halves find the few.
local function there(names, key)
  local keys, out = {}, {}
  for i = 1, #names do
    keys[i] = key(names[i])
  end
  local function look(first, last)
    local n = redis.call('EXISTS', unpack(keys, first, last))
    if n == last - first + 1 then
      for i = first, last do
        out[#out + 1] = names[i]
      end
    elseif n > 0 then
      local half = math.floor((first + last) / 2)
      look(first, half)
      look(half + 1, last)
    end
  end
  for first = 1, #names, 250 do
    look(first, math.min(first + 249, #names))
  end
  return out
end

-- The owners that take tasks.
local function taskrunners()
  local out = {}
  for _, owner in ipairs(redis.call('ZRANGE', K.owners, 0, -1)) do
    if string.match(owner, '^taskrunner@') then
      out[#out + 1] = owner
    end
  end
  return out
end

-- What a spec takes of Redis' memory: itself, its key, and a field's own share, with room to grow.
local function weight(key, length)
  return #key + length + 96
end

-- The memory of Redis that a spec uses: itself, its key, and the overhead of a field, with room to
-- grow.
local function weight(key, length)
  return #key + length + 96
end

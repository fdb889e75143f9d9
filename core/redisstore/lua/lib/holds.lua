-- What a slot holds if it is the token's, else nil: R.slot for those who look at hundreds at a time.
local function holds(slot, token)
  local at = slot and string.find(slot, '|' .. token .. '|', 1, true)
  return at and string.sub(slot, 1, at - 1) or nil
end

-- The four parts of a slot: vm or pool, token, since, phase.
local function held(slot)
  return string.match(slot, '^(.-)|(.-)|(.-)|(.*)$')
end

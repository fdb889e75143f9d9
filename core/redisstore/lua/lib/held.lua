-- The parts of a slot: vm or pool, token, since, phase, and the ms within which that ends or
-- is heard of again, if it has a limit of its own.
local function held(slot)
  return string.match(slot, '^(.-)|(.-)|(.-)|([^|]*)|?(.*)$')
end

-- How long a kind's rate holds its tasks back, µs; -1: until a running one ends; 0: not at all.
local function held_back(its, us)
  if its.most > 0 and its.hand >= its.most then
    return -1
  end
  return its.every > 0 and too_early(its.arrival, its.every, its.burst, 1, us) or 0
end

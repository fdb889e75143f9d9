-- How long it is until n actions of a rate are allowed at once, µs; 0: now.
local function too_early(arrival, every, burst, n, us)
  return math.max(0, arrival - (burst - n) * every - us)
end

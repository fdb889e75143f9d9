-- How long it is until n things of a rate may be done at once, µs; 0: now.
local function too_early(arrival, every, burst, n, us)
  return math.max(0, arrival - (burst - n) * every - us)
end

-- When the next thing of a rate comes once n are done now, µs.
local function next_arrival(arrival, every, n, us)
  return math.max(arrival, us) + n * every
end

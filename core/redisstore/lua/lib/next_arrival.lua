-- When the next action of a rate is due after n are done now, µs.
local function next_arrival(arrival, every, n, us)
  return math.max(arrival, us) + n * every
end

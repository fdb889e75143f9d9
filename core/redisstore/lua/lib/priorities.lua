-- The priorities of requests, from the highest to the lowest. The last one gets only what the others leave.
local function priorities()
  return { 'high', 'normal', 'low', 'preemptible' }
end

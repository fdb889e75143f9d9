-- The priorities of requests, from the highest to the lowest.
local function priorities()
  return { 'high', 'normal', 'low' }
end

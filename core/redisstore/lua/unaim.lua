-- Put back into their queues the requests that a host was to take and did not take in time.
-- ARGV    1 host, 2 aimed for so many ms or longer
-- RETURN  how many went back
-- REFUSE  -
-- MOVES   -
-- REPEAT  those are aimed no more
local host, clock = ARGV[1], now()
local gone = unaim(host, clock - tonumber(ARGV[2]), clock, host .. ' did not take it in time')
if #gone > 0 then
  event('unaim', '-', table.concat(gone, ' '))
end
return #gone

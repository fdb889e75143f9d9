-- Requeue the requests that were assigned to a host and not taken in time.
-- ARGV    1 host, 2 assigned for so many ms or longer
-- RETURN  how many were requeued
-- REFUSE  -
-- MOVES   evacuation scheduled→failed
-- REPEAT  those are no longer assigned
local host, clock = ARGV[1], now()
local pools = redis.call('SMEMBERS', K.pools)
local gone = unassign(host, pools, clock - tonumber(ARGV[2]), clock, host .. ' did not take it in time')
if #gone > 0 then
  event('unassign', '-', table.concat(gone, ' '))
end
return #gone

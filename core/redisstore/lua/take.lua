-- Take several actions under a name if its rate allows all of them at once.
-- ARGV    1 kind, 2 hash of the name, 3 every, µs, 4 burst, 5 how many (0: only checks), 6 call id
-- RETURN  {1 if allowed, how many more are allowed now, µs until the
--         call would be allowed, µs until burst is allowed}
-- REFUSE  -
-- MOVES   -
-- REPEAT  returns the same unless another call came in between; then it counts again: never too
--         little
local key, every, burst, n = K.rate(ARGV[1], ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local us = now() * 1000
local kept, by = string.match(redis.call('GET', key) or '', '^(%d+) (%S+)$')
local arrival = in_rhythm(tonumber(kept or 0), every, burst, us)
local again = by == ARGV[6]
local wait = again and 0 or too_early(arrival, every, burst, math.max(n, 1), us)
if wait == 0 and n > 0 and not again then
  arrival = next_arrival(arrival, every, n, us)
  -- Once that is past, a name that is not there is as good.
  redis.call('SET', key, int(arrival) .. ' ' .. ARGV[6], 'PX', int(math.ceil((arrival - us) / 1000) + 1000))
end
local ahead = math.max(0, arrival - us)
return { wait == 0 and 1 or 0, math.floor((burst * every - ahead) / every), math.ceil(wait), math.ceil(ahead) }

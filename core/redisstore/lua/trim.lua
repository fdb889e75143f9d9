-- Forget tombstones and dead entries that are older than any retry.
-- ARGV    1 ms to keep, 2 most tombstones to keep
-- RETURN  how many were forgotten
-- REFUSE  -
-- MOVES   -
-- REPEAT  forgets what became old meanwhile
local before = now() - tonumber(ARGV[1])
local n = redis.call('ZREMRANGEBYSCORE', K.tombstones, 0, before)
n = n + redis.call('ZREMRANGEBYSCORE', K.dead, 0, before)
return n + redis.call('ZREMRANGEBYRANK', K.tombstones, 0, -tonumber(ARGV[2]) - 1)

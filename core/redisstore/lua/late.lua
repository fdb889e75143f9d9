-- List owners whose heartbeat is late, and those fenced but not yet emptied, at most a thousand of each.
-- ARGV    1 late by ms, 2 when Redis began to serve, ms
-- RETURN  owners, the fenced ones first
-- REFUSE  -
-- MOVES   -
-- REPEAT  lists those late by then
local clock = now()
bring_near(clock)
local out = redis.call('ZRANGEBYSCORE', K.owners, 0, 0, 'LIMIT', 0, 1000)
local due = overdue(tonumber(ARGV[1]), tonumber(ARGV[2]), clock) or 0
for _, owner in ipairs(redis.call('ZRANGEBYSCORE', K.owners, 1, due, 'LIMIT', 0, 1000)) do
  out[#out + 1] = owner
end
return out

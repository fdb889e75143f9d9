-- Note that an overseer is at work, and when the next sign of one is due.
-- ARGV    1 ms until its next sign
-- RETURN  1
-- REFUSE  -
-- MOVES   -
-- REPEAT  notes it again
local clock, within = now(), tonumber(ARGV[1])
local due = tonumber(string.match(redis.call('HGET', K.meta, 'overseen') or '', '|(%d+)$') or 0)
if due > clock + 600000 then
  -- Nobody says so far ahead: Redis' clock was set back.
  due = 0
end
pass_when_full()
redis.call('HSET', K.meta, 'overseen', int(clock) .. '|' .. int(math.max(due, clock + within)))
return 1

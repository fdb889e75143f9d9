-- Record that an overseer is running, and when its next sign is due.
-- ARGV    1 ms until its next sign
-- RETURN  1
-- REFUSE  -
-- MOVES   -
-- REPEAT  records it again
local clock, within = now(), tonumber(ARGV[1])
local its = overseen(clock)
local newest = tonumber(redis.call('ZRANGE', K.owners, -1, -1, 'WITHSCORES')[2] or 0)
if its and newest < clock and 2 * its.due - its.at < clock then
  note_gap(clock, newest)
end
-- Nobody says further ahead than ten minutes: Redis' clock was set back.
local due = its and its.due <= clock + 600000 and its.due or 0
pass_when_full()
redis.call('HSET', K.meta, 'overseen', W.overseen({ at = clock, due = math.max(due, clock + within) }))
return 1

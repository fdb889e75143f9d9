-- Record the current incarnation of Redis, and return what ages are told by: a server reports how
-- long it has been up, not how long it has been the primary. An incarnation is young for as long as
-- its memory was old when it began: it still contains what ended in between.
-- ARGV    1 incarnation of Redis, 2 ms for which an incarnation is young at least, 3 at most,
--         4 since when it serves, if the caller knows, ms
-- RETURN  {the clock; since when it serves; for how long it is young then; when the clock was found to
--         have been set back, and the last silence of all owners ended, or 0; then the times in
--         which nobody gave a sign: the end of each and how long it was}, in ms
-- REFUSE  -
-- MOVES   -
-- REPEAT  returns the same, and what was recorded meanwhile
local clock = now()
bring_near(clock)
local sign = overseen(clock)
local its = R.incarnation(redis.call('HGET', K.meta, 'incarnation'))
if not its or its.name ~= ARGV[1] then
  local newest = redis.call('XREVRANGE', K.events, '+', '-', 'COUNT', 1)[1]
  local age = newest and clock - tonumber(string.match(newest[1], '^%d+')) or 0
  local youth = math.min(math.max(age, tonumber(ARGV[2])), tonumber(ARGV[3]))
  local known = tonumber(ARGV[4])
  pass_when_full()
  if not its and not known then
    -- It was emptied: nobody knows how its clock was set before.
    set_gaps({ { to = clock, ms = clock } })
    redis.call('HSET', K.meta, 'back_at', int(clock))
  end
  local old = its and 1 or 0
  its = { name = ARGV[1], since = known or clock, youth = youth }
  redis.call('HSET', K.meta, 'incarnation', W.incarnation(its), 'old_memory', old)
end
local meta = redis.call('HMGET', K.meta, 'back_at', 'silent_again', 'gaps')
local all = gaps(clock)
local texts = {}
for i, gap in ipairs(all) do
  texts[i] = W.gap(gap)
end
if meta[3] and table.concat(texts, ' ') ~= meta[3] then
  set_gaps(all)
end
-- One that goes on yet: all owners are late, and an overseer for longer than it may be.
local last = tonumber(redis.call('ZRANGE', K.owners, -1, -1, 'WITHSCORES')[2] or 0)
if sign and last < clock and 2 * sign.due - sign.at < clock then
  all[#all + 1] = { to = clock, ms = clock - math.max(last, sign.at) }
end
local out = { clock, its.since, its.youth, tonumber(meta[1] or 0), tonumber(meta[2] or 0) }
for _, gap in ipairs(all) do
  out[#out + 1] = gap.to
  out[#out + 1] = gap.ms
end
return out

-- Correct a count that a consistency check found wrong.
-- ARGV    1 what is counted, 2 the count as it was read, 3 how many there are
-- RETURN  1, or 0 if it is another count by now
-- REFUSE  -
-- MOVES   -
-- REPEAT  if the count has changed by now, returns 0
if (redis.call('HGET', K.counts, ARGV[1]) or '0') ~= ARGV[2] then
  return 0
end
pass_when_full()
redis.call('HSET', K.counts, ARGV[1], ARGV[3])
return 1

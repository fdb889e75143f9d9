-- Correct what a consistency check found wrong with live output: the output is dropped, since it is
-- only a view, as is that of a deleted request; the sum of a submitter's, or of all, is set.
-- ARGV    1 output or sum, 2 request and token with a colon between, or the submitter, or *, 3 the sum as
--         it was read, 4 what it is
-- RETURN  1, or 0 if it is another sum by now
-- REFUSE  -
-- MOVES   -
-- REPEAT  it is gone; if the sum has changed by now, returns 0
pass_when_full()
if ARGV[1] == 'output' then
  drop_output(ARGV[2])
  return 1
end
if (redis.call('HGET', K.outputs_sums, ARGV[2]) or '0') ~= ARGV[3] then
  return 0
end
if ARGV[4] == '0' then
  redis.call('HDEL', K.outputs_sums, ARGV[2])
else
  redis.call('HSET', K.outputs_sums, ARGV[2], ARGV[4])
end
return 1

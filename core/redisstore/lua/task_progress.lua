-- Record the progress of a task in a slot, and renew it.
-- ARGV    1 owner, 2 epoch, 3 key, 4 token, 5 ms within which it ends or is renewed; 0: a task's own time,
--         6 done, 7 total, 8 text
-- RETURN  1
-- REFUSE  FENCED STALE
-- MOVES   -
-- REPEAT  records the same again, from then on
local owner, key = ARGV[1], ARGV[3]
local its, refused = own_slot(owner, ARGV[2], key, ARGV[4])
if refused then
  return refused
end
pass_when_full()
local before = R.progress(redis.call('HGET', K.tasks_progress, key))
redis.call('HSET', K.tasks_progress, key, W.progress({ began = before and before.began or its.since,
  done = tonumber(ARGV[6]), total = tonumber(ARGV[7]), text = ARGV[8] }))
its.since, its.limit = now(), tonumber(ARGV[5])
redis.call('HSET', K.slots(owner), key, W.slot(its))
return 1

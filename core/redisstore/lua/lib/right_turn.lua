-- Make a submitter's turn agree with its waiting requests.
local function right_turn(pool, priority, submitter)
  redis.call('LREM', K.turns(pool, priority), 0, submitter)
  if redis.call('EXISTS', K.queue(pool, priority, submitter)) == 1 then
    redis.call('RPUSH', K.turns(pool, priority), submitter)
  end
end

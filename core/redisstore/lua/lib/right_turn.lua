-- Make a submitter's turn agree with whether anything of it waits.
local function right_turn(pool, class, submitter)
  redis.call('LREM', K.turns(pool, class), 0, submitter)
  if redis.call('EXISTS', K.queue(pool, class, submitter)) == 1 then
    redis.call('RPUSH', K.turns(pool, class), submitter)
  end
end

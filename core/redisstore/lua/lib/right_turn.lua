-- Make a submitter's turn in a line agree with its waiting requests.
local function right_turn(pool, line, submitter)
  redis.call('LREM', K.turns(pool, line), 0, submitter)
  if redis.call('EXISTS', K.queue(pool, line, submitter)) == 1 then
    redis.call('RPUSH', K.turns(pool, line), submitter)
  end
end

-- How many requests of a submitter and priority wait in the queues of a pool.
local function waiting_of(pool, priority, submitter)
  return redis.call('LLEN', K.queue(pool, priority, submitter))
    + redis.call('LLEN', K.queue(pool, priority .. '-soon', submitter))
end

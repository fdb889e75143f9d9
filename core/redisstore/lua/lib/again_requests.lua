-- Put requests back to the front of their queues, in their order; a retry uses an attempt.
local function again_requests(items, clock)
  for i = #items, 1, -1 do
    local key, outcome = items[i][1], items[i][2]
    local spec = redis.call('HGET', K.specs, key)
    if spec then
      local s = cjson.decode(spec)
      if outcome == 'retry' then
        redis.call('HINCRBY', K.attempts, key, 1)
      end
      enqueue(s.pool, s.class, s.submitter, { key }, true)
      wake(s.pool, 1, clock)
    end
  end
end

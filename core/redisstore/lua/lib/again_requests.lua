-- Put requests back to the front of their queues, in their order; a retry uses an attempt.
local function again_requests(items, clock)
  for i = #items, 1, -1 do
    local key, outcome = items[i][1], items[i][2]
    local pool, class, submitter = spec_head(key)
    if pool then
      if outcome == 'retry' then
        redis.call('HINCRBY', K.attempts, key, 1)
      end
      enqueue(pool, class, submitter, { key }, true)
      wake(pool, 1, clock)
    end
  end
end

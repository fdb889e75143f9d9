-- Put requests back: to the front of their queues, in their order; or, where the outcome says
-- so (retry>h2, release>-), to the host they are aimed at, or parked. A retry uses an attempt.
-- It is a death if how.death, else a fault, which shuns the host and pauses. The fault of a
-- host's canary is the host's and uses none.
local function again_requests(items, clock, owner, host, how)
  local placed = {}
  for i = #items, 1, -1 do
    local key, outcome = items[i][1], items[i][2]
    local pool, class = spec_head(key)
    local to = string.match(outcome, '>(.*)$')
    if pool then
      count(pool .. ':' .. class, 1)
      evacuated(key, redis.call('HGET', K.evacuations, key), 'failed', clock, 'it did not end there')
      local tries = 0
      if string.sub(outcome, 1, 5) == 'retry' then
        if key ~= how.tried then
          tries = redis.call('HINCRBY', K.attempts, key, 1)
        end
        if how.death then
          died(key, owner)
        else
          redis.call('HSET', K.shun, key, host)
        end
      end
      if to then
        placed[i] = { pool, to }
      elseif tries > 0 and not how.death then
        -- 250 ms, 1 s, 4 s and so on, at most some four minutes.
        redis.call('ZADD', K.later, int(clock + 250 * 4 ^ math.min(tries - 1, 5)), key)
      else
        requeue(key, clock)
      end
    end
  end
  for i = 1, #items do
    local key, its = items[i][1], placed[i]
    if its and its[2] ~= '-' then
      aim(its[1], key, host, its[2], clock, how.why or '')
    elseif its then
      evacuate(key, 'parked', host, '', clock, how.why or '')
      redis.call('RPUSH', K.parked(its[1]), key)
      wake(its[1], 1, clock)
    end
  end
end

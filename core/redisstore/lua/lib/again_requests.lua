-- Requeue requests at the front of their queues, in their order. The outcome may instead assign
-- them to a host or park them (retry>h2, release>-), unless they run apart. A retry is a fault and
-- uses an attempt. broken is a fault in which the VM died, unclean one after which it could not be
-- cleaned: these count against the request. After a fault the request pauses, from the second on if
-- how.lost: the owner was lost. Otherwise the request avoids the host. The fault of a host's canary
-- is the host's and uses no attempt.
local function again_requests(items, clock, host, how)
  local placed, keys = {}, {}
  for i = 1, #items do
    keys[i] = items[i][1]
  end
  local apart = marked(keys)
  for i = #items, 1, -1 do
    local key, outcome = items[i][1], items[i][2]
    local pool, priority = spec_head(key)
    local word, _, to = outcome_parts(outcome)
    if pool then
      count(pool .. ':' .. priority, 1)
      evacuated(key, redis.call('HGET', K.evacuations, key), 'failed', clock, 'it did not end there')
      redis.call('HSET', K.waits, key, int(clock))
      local tries = 0
      if word ~= 'release' then
        if key ~= how.tried then
          tries = redis.call('HINCRBY', K.attempts, key, 1)
          if word == 'broken' then
            died(key, items[i][3] .. '!')
          elseif word == 'unclean' then
            died(key, items[i][3] .. '~!')
          end
        end
        if not how.lost then
          redis.call('HSET', K.shun, key, host)
        end
      end
      local step = tries - (how.lost and 2 or 1)
      if to ~= '' and not apart[i] then
        placed[i] = { pool, to }
      elseif step >= 0 then
        -- 250 ms, 1 s, 4 s and so on, at most some four minutes.
        redis.call('ZADD', K.later, int(clock + 250 * 4 ^ math.min(step, 5)), key)
      elseif apart[i] then
        placed[i] = { pool, 'apart' }
      else
        requeue(key, clock)
      end
    end
  end
  for i = 1, #items do
    local key, its = items[i][1], placed[i]
    if its and apart[i] then
      -- Behind those that are there.
      requeue(key, clock)
    elseif its and its[2] ~= '-' then
      assign(its[1], key, host, its[2], clock, how.why or '')
    elseif its then
      evacuate(key, 'parked', host, '', clock, how.why or '')
      redis.call('RPUSH', K.parked(its[1]), key)
      wake(its[1], 1, clock)
    end
  end
end

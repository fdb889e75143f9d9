-- The only way out of the queues towards a claim: first a request that runs apart, unless the owner
-- already holds one, then requests assigned to the host, then parked ones, then the queues of the
-- pool. There submitters take turns within a priority, and priorities share by weight. tickets
-- counts all that was ever taken from the pool. A request that met a death while it waited is moved
-- to those that run apart.
local function take(pool, priority, want, out)
  local turns, before = K.turns(pool, priority), #out
  local rounds = 0
  while want > 0 and rounds < 64 do
    rounds = rounds + 1
    local submitters = redis.call('LPOP', turns, int(want))
    if not submitters or #submitters == 0 then
      break
    end
    local n = #submitters
    local share, extra = math.floor(want / n), want % n
    local back, last, filled = {}, {}, #out
    for i = 1, n do
      local queue = K.queue(pool, priority, submitters[i])
      local count = share
      if i <= extra then
        count = count + 1
      end
      local got = redis.call('LPOP', queue, int(count))
      if got then
        for j = 1, #got do
          out[filled + j] = got[j]
        end
        filled, want = filled + #got, want - #got
        if #got == count and redis.call('EXISTS', queue) == 1 then
          if i <= extra then
            last[#last + 1] = submitters[i]
          else
            back[#back + 1] = submitters[i]
          end
        end
      end
    end
    for i = 1, #last do
      back[#back + 1] = last[i]
    end
    if #back > 0 then
      redis.call('RPUSH', turns, unpack(back))
    end
  end
  count(pool .. ':' .. priority, before - #out)
  return want
end
local function count_one(pool, key, n)
  local _, priority = spec_head(key)
  if priority then
    count(pool .. ':' .. priority, n)
  end
end
local function ahead(pool, want, host, clock)
  local out = redis.call('LPOP', K.assigned(host, pool), int(want)) or {}
  if #out < want then
    for _, key in ipairs(redis.call('LPOP', K.parked(pool), int(want - #out)) or {}) do
      out[#out + 1] = key
    end
  end
  if #out == 0 then
    return out
  end
  for i = 1, #out do
    count_one(pool, out[i], -1)
  end
  local accepted = {}
  for i, record in ipairs(redis.call('HMGET', K.evacuations, unpack(out))) do
    local its = R.move(record)
    if its then
      its.state, its.to, its.accepted = 'accepted', host, clock
      accepted[#accepted + 1] = out[i]
      accepted[#accepted + 1] = W.move(its)
    end
  end
  if #accepted > 0 then
    redis.call('HSET', K.evacuations, unpack(accepted))
  end
  return out
end
local function dequeue(pool, want, tickets, owner, host, clock)
  local out, deaths, first, apart = {}, false, nil, false
  if redis.call('EXISTS', K.assigned(host, pool), K.parked(pool), K.deaths) > 0 then
    deaths = redis.call('EXISTS', K.deaths) == 1
    if deaths then
      for _, is in ipairs(marked(redis.call('HKEYS', K.slots(owner)))) do
        apart = apart or is
      end
      first = not apart and redis.call('LPOP', K.apart(pool))
      if first then
        apart, want = true, want - 1
        count_one(pool, first, -1)
      end
    end
    out = want > 0 and ahead(pool, want, host, clock) or out
    want = want - #out
  end
  if want > 0 then
    by_priority(want, tickets, function(priority, n)
      return take(pool, priority, n, out)
    end)
  end
  if deaths then
    local mine = { first or nil }
    for i, is in ipairs(marked(out)) do
      if is and apart then
        evacuated(out[i], redis.call('HGET', K.evacuations, out[i]), 'failed', clock, 'it runs apart')
        redis.call('RPUSH', K.apart(pool), out[i])
        count_one(pool, out[i], 1)
      else
        apart = apart or is
        mine[#mine + 1] = out[i]
      end
    end
    out = mine
  end
  return out
end

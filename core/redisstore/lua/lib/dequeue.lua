-- The only way out of the queues towards a claim: first a request that runs apart, unless the owner
-- already holds one, then requests assigned to the host, then parked ones, then the queues of the
-- pool. There priorities share by weight. tickets counts all that was ever taken from the pool, most
-- is how many of a submitter and priority may run at once, 0: any number. A request that met a death
-- while it waited is moved to those that run apart. What waits there is claimed even if its marks
-- were lost.
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
local function dequeue(pool, want, tickets, most, owner, host, clock)
  local out, deaths, first, apart = {}, false, nil, false
  if redis.call('EXISTS', K.assigned(host, pool), K.parked(pool), K.deaths, K.apart(pool)) > 0 then
    deaths = redis.call('EXISTS', K.deaths, K.apart(pool)) > 0
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
    local soon = redis.call('EXISTS', K.turns(pool, 'high-soon'), K.turns(pool, 'normal-soon'),
      K.turns(pool, 'low-soon')) > 0
    local ran = { high = {}, normal = {}, low = {} }
    local function in_turn(priority)
      local n = redis.call('LLEN', K.turns(pool, priority))
      return soon and n + redis.call('LLEN', K.turns(pool, priority .. '-soon')) or n
    end
    by_priority(want, tickets, in_turn('high'), in_turn('normal'), function(priority, n)
      return share(pool, priority, n, tickets, most, ran[priority], soon, out)
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
  if most > 0 then
    note_running(pool, out)
  end
  return out
end

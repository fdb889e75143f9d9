-- The one end of claims, whoever ends them: the owner itself, its restarted self, or the
-- overseer. items is key, token, outcome, key, ...; the answer has '1' or '0' per item
-- (0: the slot is not that token's, nothing moved) and what moved, for the event. A task's
-- retry may carry its delay in ms, as in retry5000. late: the host may have been lost since
-- the claim, and VMs that it does not have any more are not listed.
local function settle(owner, host, items, clock, late)
  local slots, role = K.slots(owner), string.match(owner, '^(%a+)@')
  local keys = {}
  for i = 1, #items, 3 do
    keys[(i + 2) / 3] = items[i]
  end
  local found = redis.call('HMGET', slots, unpack(keys))
  -- Numbers cost as arguments, so the time is written once.
  local stamp = string.format('%.0f', clock)
  local verdict, seen = {}, {}
  local gone, dirty, n = {}, {}, 0
  local done, stones, ndone = {}, {}, 0
  local other, dead = {}, {}
  for i = 1, #keys do
    local key, token, outcome = keys[i], items[3 * i - 1], items[3 * i]
    local at = found[i] and not seen[key] and string.find(found[i], '|' .. token .. '|', 1, true)
    if not at then
      verdict[i] = '0'
    else
      verdict[i], seen[key] = '1', true
      n = n + 1
      gone[n] = key
      dirty[n] = role == 'vmfactory' and key or string.sub(found[i], 1, at - 1)
      if role == 'vmfactory' then
        other[#other + 1] = { key, outcome }
      elseif outcome == 'done' or outcome == 'dead' then
        ndone = ndone + 1
        done[ndone] = key
        stones[2 * ndone - 1], stones[2 * ndone] = stamp, key
        if outcome == 'dead' then
          dead[#dead + 1], dead[#dead + 2] = stamp, key
        end
      else
        other[#other + 1] = { key, outcome }
      end
    end
  end
  if n == 0 then
    return table.concat(verdict), ''
  end
  redis.call('HDEL', slots, unpack(gone))
  if ndone > 0 then
    redis.call('HDEL', role == 'taskrunner' and K.tasks or K.specs, unpack(done))
    if redis.call('EXISTS', K.attempts) == 1 then
      redis.call('HDEL', K.attempts, unpack(done))
    end
    if redis.call('EXISTS', K.cancels) == 1 then
      redis.call('HDEL', K.cancels, unpack(done))
    end
    redis.call('ZADD', K.tombstones, unpack(stones))
  end
  if #dead > 0 and role ~= 'taskrunner' then
    redis.call('ZADD', K.dead, unpack(dead))
  end
  if role == 'taskrunner' then
    again_tasks(other, clock)
  else
    if role ~= 'vmfactory' then
      again_requests(other, clock)
    end
    if late then
      local known, its = {}, redis.call('HMGET', K.vms(host), unpack(dirty))
      for i = 1, #dirty do
        if its[i] then
          known[#known + 1] = dirty[i]
        end
      end
      dirty = known
    end
    if #dirty > 0 then
      redis.call('RPUSH', K.dirty(host), unpack(dirty))
      ring(K.factory_bell(host))
    end
  end
  local moved = { table.concat(done, ' ') }
  for i = 1, #other do
    moved[#moved + 1] = other[i][1] .. '=' .. other[i][2]
  end
  return table.concat(verdict), table.concat(moved, ' ')
end

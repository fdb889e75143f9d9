-- The one end of claims, whoever ends them: the owner itself, its restarted self, or the
-- overseer. items is key, token, outcome, key, ...; the answer has '1' or '0' per item
-- (0: the slot is not that token's, nothing moved) and what moved, for the event. A task's
-- retry may carry its delay in ms, as in retry5000. lost: the host's VMs are not listed.
local function settle(owner, host, items, clock, lost)
  local slots = K.slots(owner)
  local keys = {}
  for i = 1, #items, 3 do
    keys[#keys + 1] = items[i]
  end
  local found = redis.call('HMGET', slots, unpack(keys))
  local verdict, moved = {}, {}
  local gone, ended, stones, dirty, again, dead = {}, {}, {}, {}, {}, {}
  local tasks, seen = {}, {}
  for i = 1, #keys do
    local key, token, outcome = keys[i], items[3 * i - 1], items[3 * i]
    local what, mine, _, phase
    if found[i] and not seen[key] then
      what, mine, _, phase = held(found[i])
    end
    if mine ~= token then
      verdict[i] = '0'
    else
      verdict[i], seen[key] = '1', true
      gone[#gone + 1] = key
      if phase == 'creating' or phase == 'destroying' then
        dirty[#dirty + 1] = key
      elseif phase == 'task' then
        tasks[#tasks + 1] = { key, outcome }
      else
        dirty[#dirty + 1] = what
        if outcome == 'done' or outcome == 'dead' then
          ended[#ended + 1] = key
          stones[#stones + 1], stones[#stones + 2] = clock, key
          if outcome == 'dead' then
            dead[#dead + 1], dead[#dead + 2] = clock, key
          end
        else
          again[#again + 1] = { key, outcome }
        end
      end
      moved[#moved + 1] = key .. '=' .. outcome
    end
  end
  if #gone == 0 then
    return table.concat(verdict), moved
  end
  redis.call('HDEL', slots, unpack(gone))
  if #ended > 0 then
    redis.call('HDEL', K.specs, unpack(ended))
    if redis.call('EXISTS', K.attempts) == 1 then
      redis.call('HDEL', K.attempts, unpack(ended))
    end
    if redis.call('EXISTS', K.cancels) == 1 then
      redis.call('HDEL', K.cancels, unpack(ended))
    end
    redis.call('ZADD', K.tombstones, unpack(stones))
  end
  if #dead > 0 then
    redis.call('ZADD', K.dead, unpack(dead))
  end
  for i = #again, 1, -1 do
    local spec = redis.call('HGET', K.specs, again[i][1])
    if spec then
      local s = cjson.decode(spec)
      if again[i][2] == 'retry' then
        redis.call('HINCRBY', K.attempts, again[i][1], 1)
      end
      enqueue(s.pool, s.class, s.submitter, { again[i][1] }, true)
      wake(s.pool, 1, clock)
    end
  end
  for i = 1, #tasks do
    local id, outcome = tasks[i][1], tasks[i][2]
    if outcome == 'done' or outcome == 'dead' then
      redis.call('HDEL', K.tasks, id)
      redis.call('HDEL', K.attempts, id)
      redis.call('ZADD', K.tombstones, clock, id)
    elseif string.sub(outcome, 1, 5) == 'retry' then
      redis.call('HINCRBY', K.attempts, id, 1)
      redis.call('ZADD', K.tasks_later, clock + (tonumber(string.sub(outcome, 6)) or 0), id)
      ring(K.tasks_bell)
    else
      redis.call('LPUSH', K.tasks_queue, id)
      ring(K.tasks_bell)
    end
  end
  if #dirty > 0 and not lost then
    redis.call('RPUSH', K.dirty(host), unpack(dirty))
    ring(K.factory_bell(host))
  end
  return table.concat(verdict), moved
end

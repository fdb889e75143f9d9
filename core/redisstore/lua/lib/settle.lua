-- The one end of claims, whoever ends them: the owner itself, its restarted self, or the
-- overseer. The answer has '1' or '0' per ending (0: the slot is not that token's, nothing
-- moved) and what moved, for the event. A task's retry or later may carry its delay in ms, as
-- in retry5000, a request's retry or release where it goes, as in retry>h2. how says late: the
-- host may have been lost since the claim, and VMs that it does not have any more are not
-- listed; lost: so was the owner; why: for the records; probation and canary: the host's.
local function settle(owner, host, ends, clock, how)
  local slots, role = K.slots(owner), string.match(owner, '^%a+')
  local tried, by = string.match(how.canary or '', '^(.-)|(.*)$')
  local tried_end
  how.tried = by == owner and tried or nil
  local keys = ends.keys
  local found = redis.call('HMGET', slots, unpack(keys))
  local verdict, seen = {}, {}
  local gone, dirty, n = {}, {}, 0
  local done, ndone = {}, 0
  local other, dead = {}, {}
  local token, mark
  for i = 1, #keys do
    local key, outcome = keys[i], ends.outcomes[i]
    if ends.tokens[i] ~= token then
      token = ends.tokens[i]
      mark = '|' .. token .. '|'
    end
    local at = found[i] and not seen[key] and string.find(found[i], mark, 1, true)
    if not at then
      verdict[i] = '0'
    else
      verdict[i], seen[key] = '1', true
      if key == how.tried then
        tried_end = outcome
      end
      n = n + 1
      gone[n] = key
      dirty[n] = role == 'vmfactory' and key or string.sub(found[i], 1, at - 1)
      if role ~= 'vmfactory' and (outcome == 'done' or outcome == 'dead') then
        ndone = ndone + 1
        done[ndone] = key
        if outcome == 'dead' then
          dead[#dead + 1], dead[#dead + 2] = clock, key
        end
      else
        other[#other + 1] = { key, outcome, dirty[n] }
      end
    end
  end
  if n == 0 then
    return table.concat(verdict), ''
  end
  local apart = false
  for _, is in ipairs(role == 'testrunner' and marked(gone) or {}) do
    apart = apart or is
  end
  redis.call('HDEL', slots, unpack(gone))
  if ndone > 0 then
    if role == 'taskrunner' then
      redis.call('HDEL', K.tasks, unpack(done))
    else
      drop_specs(done)
    end
    forget(done, 'finished', clock)
    add_tombstones(done)
  end
  if #dead > 0 and role ~= 'taskrunner' then
    redis.call('ZADD', K.dead, unpack(dead))
  end
  if role == 'taskrunner' then
    let_go(gone, dirty, other)
    if how.late then
      -- Who ends its own claims looks for others itself.
      ring(K.tasks_bell)
    end
    again_tasks(other, clock, how)
  else
    if role ~= 'vmfactory' then
      again_requests(other, clock, host, how)
      if apart then
        apart_next(host, clock)
      end
    end
    if how.late then
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
  if tried_end then
    judge_canary(host, how.probation, tried_end, clock)
  end
  local moved = { table.concat(done, ' ') }
  for i = 1, #other do
    moved[#moved + 1] = other[i][1] .. '=' .. other[i][2]
  end
  return table.concat(verdict), table.concat(moved, ' ')
end

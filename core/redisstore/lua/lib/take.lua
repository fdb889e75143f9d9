-- Take requests of a line, whose submitters take turns. Where the pool limits how many of a submitter
-- and priority run at once (most), who has as many is passed over, some dozens at a time; ran is how
-- many this call took of each. Returns how many it lacks.
local function take(pool, line, want, most, ran, out)
  local turns = K.turns(pool, line)
  local rounds, passed = 0, 0
  while want > 0 and rounds < 64 do
    rounds = rounds + 1
    local submitters = redis.call('LPOP', turns, int(most > 0 and math.max(want, 32) or want))
    if not submitters or #submitters == 0 then
      break
    end
    local seen, before = #submitters, #out
    local back, last, filled, left = {}, {}, before, nil
    if most > 0 then
      local run, may, front = running(pool, line, submitters), {}, {}
      left = {}
      for i = seen, 1, -1 do
        local submitter = submitters[i]
        left[submitter] = most - run[i] - (ran[submitter] or 0)
      end
      for _, submitter in ipairs(submitters) do
        if left[submitter] <= 0 then
          back[#back + 1] = submitter
        elseif #may < want then
          may[#may + 1] = submitter
        else
          table.insert(front, 1, submitter)
        end
      end
      if #front > 0 then
        redis.call('LPUSH', turns, unpack(front))
      end
      submitters = may
    end
    local n = #submitters
    local share, extra = math.floor(want / math.max(n, 1)), want % math.max(n, 1)
    for i = 1, n do
      local queue = K.queue(pool, line, submitters[i])
      local count = share
      if i <= extra then
        count = count + 1
      end
      if left then
        count = math.min(count, left[submitters[i]])
      end
      local got = redis.call('LPOP', queue, int(count))
      if got then
        for j = 1, #got do
          out[filled + j] = got[j]
        end
        filled, want = filled + #got, want - #got
        if left then
          ran[submitters[i]] = (ran[submitters[i]] or 0) + #got
        end
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
    passed = filled == before and passed + seen or 0
    if left and passed >= redis.call('LLEN', turns) then
      break
    end
  end
  return want
end

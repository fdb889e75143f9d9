-- Take requests of a line, whose submitters take turns. Where the pool limits how many of a submitter
-- and priority run at once (most), who has as many is passed over; ran is how many this call took of
-- each. Returns how many it lacks.
local function take(pool, line, want, most, ran, out)
  local turns = K.turns(pool, line)
  local rounds, passed = 0, 0
  while want > 0 and rounds < 64 do
    rounds = rounds + 1
    local submitters = redis.call('LPOP', turns, int(want))
    if not submitters or #submitters == 0 then
      break
    end
    local n = #submitters
    local share, extra = math.floor(want / n), want % n
    local back, last, filled, before = {}, {}, #out, #out
    local run = most > 0 and running(pool, line, submitters)
    for i = 1, n do
      local queue = K.queue(pool, line, submitters[i])
      local count = share
      if i <= extra then
        count = count + 1
      end
      if run then
        count = math.max(0, math.min(count, most - run[i] - (ran[submitters[i]] or 0)))
      end
      local got = count == 0 and {} or redis.call('LPOP', queue, int(count))
      if got then
        for j = 1, #got do
          out[filled + j] = got[j]
        end
        filled, want = filled + #got, want - #got
        if run then
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
    passed = filled == before and passed + n or 0
    if run and passed >= redis.call('LLEN', turns) then
      break
    end
  end
  return want
end

-- Finish tasks, record the owner's heartbeat, queue delayed tasks that are due, and claim tasks.
-- ARGV    1 owner, 2 host, 3 epoch, 4 lane, 5 seq, 6 token number, 7 want,
--         8 ms until the next heartbeat, 9 number of finishes, then the finishes in
--         runs: token, outcome, count, key, ...
-- RETURN  {verdicts, ms until a task may begin if fewer were found than wanted, or 0, {cancelled key,
--         who, ...}, {key, token, attempts, who cancelled it, task, ...}, slots held}
-- REFUSE  FENCED STALE
-- MOVES   task queued→running, queued→cancelling, queued→delayed, delayed→queued, running→queued,
--         cancelling→queued, running→delayed, cancelling→delayed, running→done, cancelling→done,
--         running→dead, cancelling→dead, cancelling→cancelled
-- REPEAT  the same lane and seq return the same answer and take effect once
local owner, host, epoch = ARGV[1], ARGV[2], ARGV[3]
local lane, seq, want = 'lane' .. ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[7])
local me, slots, token = K.owner(owner), K.slots(owner), epoch .. '.' .. ARGV[6]
local mine = redis.call('HMGET', me, 'epoch', lane)
if mine[1] ~= epoch then
  return fail('FENCED', owner)
end
local clock, verdicts, claimed, wait = now(), '', {}, 0
local last = R.task_lane(mine[2]) or { seq = 0 }
if seq < last.seq then
  return fail('STALE', owner)
end
pass_when_full()
if seq == last.seq then
  verdicts, wait, claimed = last.verdicts, last.wait, words(last.keys)
else
  local moved, drained = '', redis.call('HGET', K.host(host), 'drain') == '1'
  if tonumber(ARGV[9]) > 0 then
    verdicts, moved = settle(owner, host, endings(10, tonumber(ARGV[9])), clock, {})
  end
  promote_tasks(clock)
  if drained then
    want = 0
  end
  if want > 0 then
    local kinds, held_for
    claimed, kinds, held_for = dequeue_tasks(want, tonumber(redis.call('HGET', K.meta, 'tasks_taken') or 0), clock)
    claimed, kinds = tasks_apart(owner, claimed, kinds, clock)
    local fields, slot = {}, { token = token, since = clock, phase = 'task', limit = 0 }
    for i = 1, #claimed do
      slot.what = kinds[i]
      fields[2 * i - 1], fields[2 * i] = claimed[i], W.slot(slot)
      redis.call('SADD', K.tasks_hand(kinds[i]), claimed[i])
    end
    if #fields > 0 then
      redis.call('HSET', slots, unpack(fields))
      hold(claimed, owner)
      redis.call('HINCRBY', K.meta, 'tasks_taken', int(#claimed))
    end
    if #claimed < want then
      local due = redis.call('ZRANGE', K.tasks_later, 0, 0, 'WITHSCORES')[2]
      wait = math.min(held_for and math.ceil(held_for / 1000) or math.huge, due and tonumber(due) - clock or math.huge)
      wait = wait < math.huge and math.max(1, wait) or 0
    end
  end
  if #claimed == want and (want > 0 or moved ~= '') and
    redis.call('EXISTS', K.tasks_kinds('high'), K.tasks_kinds('normal'), K.tasks_kinds('low')) > 0 then
    ring(K.tasks_bell)
  end
  if #claimed > 0 or moved ~= '' then
    event('tasks', owner, moved .. ' ' .. table.concat(claimed, ' '))
  end
  redis.call('HSET', me, lane,
    W.task_lane({ seq = seq, wait = wait, verdicts = verdicts, keys = table.concat(claimed, ' ') }))
end
heartbeat(owner, host, clock, tonumber(ARGV[8]))
local claims = {}
for _, key in ipairs(claimed) do
  local slot, task = redis.call('HGET', slots, key), redis.call('HGET', K.tasks, key)
  -- A slot that was emptied meanwhile, or claimed anew, is not this call's.
  if task and holds(slot, token) then
    local n = #claims
    claims[n + 1], claims[n + 2], claims[n + 5] = key, token, task
    claims[n + 3] = redis.call('HGET', K.attempts, key) or '0'
    claims[n + 4] = redis.call('HGET', K.cancels, key) or ''
  end
end
local stop = redis.call('EXISTS', K.cancels) == 1 and cancelled(owner) or {}
return { verdicts, wait, stop, claims, redis.call('HLEN', slots) }

-- Note who asked first to stop a request or task, and tell its owner, if it has one.
local function ask_stop(key, by, owner, op)
  pass_when_full()
  if redis.call('HSETNX', K.cancels, key, by) == 1 then
    event(op, by, key)
  end
  if owner ~= '' then
    ring(K.notice(owner))
  end
end

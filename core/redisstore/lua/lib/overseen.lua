-- The last sign of an overseer. One that is yet to come was given before the clock was set back: it
-- counts as given now.
local function overseen(clock)
  local its = R.overseen(redis.call('HGET', K.meta, 'overseen'))
  if its and its.at > clock then
    its = { at = clock, due = clock + its.due - its.at }
    pass_when_full()
    redis.call('HSET', K.meta, 'overseen', W.overseen(its), 'back_at', int(clock))
  end
  return its
end

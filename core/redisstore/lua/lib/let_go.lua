-- Remove tasks that left their slots from the running count of their kinds, and their progress,
-- unless they only wait for others and continue (back: those that did not end, {key, outcome}).
local function let_go(keys, kinds, back)
  local goes_on, ended = {}, {}
  for i = 1, #back do
    goes_on[back[i][1]] = outcome_parts(back[i][2]) == 'later'
  end
  for i = 1, #keys do
    redis.call('SREM', K.tasks_hand(kinds[i]), keys[i])
    if not goes_on[keys[i]] then
      ended[#ended + 1] = keys[i]
    end
  end
  if #ended > 0 then
    redis.call('HDEL', K.tasks_progress, unpack(ended))
  end
end

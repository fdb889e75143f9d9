-- The times in which nobody gave a sign, oldest first. One whose end is yet to come ended before the
-- clock was set back.
local function gaps(clock)
  local out = {}
  for text in string.gmatch(redis.call('HGET', K.meta, 'gaps') or '', '%S+') do
    local its = R.gap(text)
    if its and its.to <= clock then
      out[#out + 1] = its
    end
  end
  return out
end

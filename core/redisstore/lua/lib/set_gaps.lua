-- Record the times in which nobody gave a sign. Of many the two oldest become one that is as long as both.
local function set_gaps(all)
  while #all > 16 do
    all[2].ms = all[1].ms + all[2].ms
    table.remove(all, 1)
  end
  local texts = {}
  for i, its in ipairs(all) do
    texts[i] = W.gap(its)
  end
  pass_when_full()
  redis.call('HSET', K.meta, 'gaps', table.concat(texts, ' '))
end

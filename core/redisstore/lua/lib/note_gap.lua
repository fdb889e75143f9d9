-- Record that nobody gave a sign until now since the last one: the clock was set forward, or Redis was
-- away. An overseer may have given a later one than that.
local function note_gap(clock, last)
  local its = overseen(clock)
  last = math.max(last, its and its.at or 0)
  if last > 0 and last < clock then
    local all = gaps(clock)
    all[#all + 1] = { to = clock, ms = clock - last }
    set_gaps(all)
  end
end

-- Share a demand among the priorities: of every ten tickets six go to high, three to normal and one
-- to low, if one submitter of each waits. Each further submitter has as many tickets of its own, so
-- all of the lower priorities together get less than one submitter of a higher one; what a priority
-- does not use goes to the others, higher ones first. tickets counts all that was ever taken, so that
-- the shares hold across calls of any size and caller. highs and normals are how many submitters of
-- those priorities wait. take(priority, n) returns how many of the n it lacks.
local function by_priority(want, tickets, highs, normals, take)
  local function of_lower(n)
    local lower = math.floor(4 * n / (6 * math.max(highs, 1) + 4))
    return lower, math.floor(lower / (3 * math.max(normals, 1) + 1))
  end
  local lower, low = of_lower(tickets + want)
  local lower_before, low_before = of_lower(tickets)
  lower, low = lower - lower_before, low - low_before
  local quota = { high = want - lower, normal = lower - low, low = low }
  local priorities, spent, left = { 'high', 'normal', 'low' }, {}, 0
  for i = 1, 3 do
    left = left + quota[priorities[i]]
    for j = i, i + 2 do
      local priority = priorities[(j - 1) % 3 + 1]
      -- Its own priority first, then the heavier ones; what they all lack is the lighter ones'.
      if left > 0 and not spent[priority] and (j == i or j > 3) then
        left = take(priority, left)
        spent[priority] = left > 0
      end
    end
  end
end

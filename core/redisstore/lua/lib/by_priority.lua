-- Share a demand among the priorities: of every ten tickets six go to high, three to normal and one
-- to low; what a priority does not use goes to the others, higher ones first. tickets counts all
-- that was ever taken, so that the shares hold across calls of any size and caller. take(priority,
-- n) returns how many of the n it lacks. Returns how many they all lack.
local function by_priority(want, tickets, take)
  local cycles = math.floor(want / 10)
  local quota = { high = 6 * cycles, normal = 3 * cycles, low = cycles }
  local cycle = { 'high', 'normal', 'high', 'high', 'normal', 'high', 'low', 'high', 'normal', 'high' }
  for i = 10 * cycles, want - 1 do
    local priority = cycle[(tickets + i) % 10 + 1]
    quota[priority] = quota[priority] + 1
  end
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
  return left
end

-- Share what is wanted among the classes: of every ten tickets six go to high, three to normal
-- and one to low, and what a class does not use goes to the others, the heavier first. tickets
-- counts what was ever taken, so that the shares hold across calls of any size and caller.
-- take(class, n) answers how many of the n it lacks.
local function by_class(want, tickets, take)
  local cycles = math.floor(want / 10)
  local quota = { high = 6 * cycles, normal = 3 * cycles, low = cycles }
  local cycle = { 'high', 'normal', 'high', 'high', 'normal', 'high', 'low', 'high', 'normal', 'high' }
  for i = 10 * cycles, want - 1 do
    local class = cycle[(tickets + i) % 10 + 1]
    quota[class] = quota[class] + 1
  end
  local classes, spent, left = { 'high', 'normal', 'low' }, {}, 0
  for i = 1, 3 do
    left = left + quota[classes[i]]
    for j = i, i + 2 do
      local class = classes[(j - 1) % 3 + 1]
      -- Its own class first, then the heavier ones; what they all lack is the lighter ones'.
      if left > 0 and not spent[class] and (j == i or j > 3) then
        left = take(class, left)
        spent[class] = left > 0
      end
    end
  end
end

-- Take one of the spares: of the host that has most and is not the avoided one; nil if there is
-- none.
local function elsewhere(spare, shunned)
  local best
  for _, its in ipairs(spare) do
    if its[1] ~= shunned and its[2] > (best and best[2] or 0) then
      best = its
    end
  end
  if best then
    best[2] = best[2] - 1
  end
  return best and best[1]
end

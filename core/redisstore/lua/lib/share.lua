-- Take requests of a priority: of four turns three are those of the line of what is due soon, if
-- there is any. Returns how many it lacks.
local function share(pool, priority, want, tickets, most, ran, soon, out)
  local before = #out
  if soon then
    local others = math.floor(want / 4)
    for i = 4 * others, want - 1 do
      -- A priority may get every nth ticket only. Of the multiples of the golden ratio a quarter has
      -- such a fraction, whichever n.
      if (tickets + i) * 0.6180339887498949 % 1 >= 0.75 then
        others = others + 1
      end
    end
    others = others + take(pool, priority .. '-soon', want - others, most, ran, out)
    want = others > 0 and take(pool, priority, others, most, ran, out) or 0
    if want > 0 then
      want = take(pool, priority .. '-soon', want, most, ran, out)
    end
  else
    want = take(pool, priority, want, most, ran, out)
  end
  count(pool .. ':' .. priority, before - #out)
  return want
end

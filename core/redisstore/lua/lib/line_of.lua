-- The line of a request: its priority or, if it is due within the hour, the line beside that, whose
-- turns come more often.
local function line_of(priority, due, clock)
  local left = due and tonumber(due) - clock
  return left and left >= 0 and left <= 3600000 and priority .. '-soon' or priority
end

-- Let retries go whose pause is over, at most 64.
-- ARGV    -
-- RETURN  how many went
-- REFUSE  -
-- MOVES   -
-- REPEAT  lets those go that are due by then
local due = promote(now())
if #due > 0 then
  event('promote', '-', table.concat(due, ' '))
end
return #due

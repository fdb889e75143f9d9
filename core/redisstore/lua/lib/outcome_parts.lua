-- The parts of an outcome: its word; for how long a task waits, ms, as in retry5000; where a request
-- goes, as in retry>h2, or retry>- to be parked.
local function outcome_parts(outcome)
  return string.match(outcome, '^(%l+)(%d*)>?(.*)$')
end

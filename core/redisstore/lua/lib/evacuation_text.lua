-- The record of a request's move that is under way, which evacuation reads.
local function evacuation_text(state, from, to, scheduled, accepted, why)
  return table.concat({ state, from, to, scheduled, accepted, why }, '|')
end

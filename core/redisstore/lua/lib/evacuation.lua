-- The parts of the record of a request's move that is under way: state, from, to, when it was
-- scheduled, when accepted, why; nil if there is none, or one that is not readable.
local function evacuation(record)
  return string.match(record or '', '^(%l+)|([^|]*)|([^|]*)|(%d+)|(%d+)|(.*)$')
end

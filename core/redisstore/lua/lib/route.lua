-- The pool in which a request of a pool waits: that of a lease, if it is a holder's, else the pool
-- itself.
local function route(to, pool, submitter, class)
  local one, other = to.submitter[submitter], class ~= '' and to.class[class] or nil
  return one and other and (one < other and one or other) or one or other or pool
end

-- Where requests of a pool go whose submitter, or the class of the submission that they grade, has an
-- open lease: leased pools by submitter and by class, from the pool's field leases.
local function routes(text)
  local to, pool = { class = {}, submitter = {} }, nil
  for _, word in ipairs(words(text or '')) do
    local leased, class = string.match(word, '^(.-)>(.*)$')
    if leased then
      pool = leased
      to.class[class] = to.class[class] or pool
    else
      to.submitter[word] = to.submitter[word] or pool
    end
  end
  return to
end

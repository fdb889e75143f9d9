-- The host of an owner.
local function host_of(owner)
  return string.match(owner, '@(.-)#')
end

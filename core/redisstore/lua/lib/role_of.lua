-- The role of an owner, which its name begins with.
local function role_of(owner)
  return string.match(owner, '^%l+')
end

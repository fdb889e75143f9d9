-- The owners of a role.
local function owners_of(role)
  local out = {}
  for _, owner in ipairs(redis.call('ZRANGE', K.owners, 0, -1)) do
    if role_of(owner) == role then
      out[#out + 1] = owner
    end
  end
  return out
end

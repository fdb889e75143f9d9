-- A refusal: a code of core and a detail. Two words, or Redis prepends ERR.
local function fail(code, detail)
  return redis.error_reply(code .. ' ' .. detail)
end

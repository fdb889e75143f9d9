-- A refusal: a code word of core and a detail. Two words, else Redis puts ERR in front.
local function fail(code, detail)
  return redis.error_reply(code .. ' ' .. detail)
end

-- The stream of a live output by its id, request:token.
local function output_of(id)
  local request, token = string.match(id, '^(.-):(.*)$')
  return K.output(request, token)
end

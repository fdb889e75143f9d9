-- The stream of a live output by its id, request:token.
local function output_of(id)
  return K.output(string.match(id, '^(.-):(.*)$'))
end

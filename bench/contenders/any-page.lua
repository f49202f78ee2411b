-- Asks for pages at places of a generated catalogue that a fixed seed chooses: the first argument is its size.
local size = 1000
function init(arguments)
  size = tonumber(arguments[1]) or size
  math.randomseed(20260303)
end
function request()
  local code = string.format("O%07d", math.random(0, size - 21))
  return wrk.format(nil, wrk.path .. "&Cursor=" .. code)
end

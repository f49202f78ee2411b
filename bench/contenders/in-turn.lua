-- Asks for each of its arguments in turn.
local paths, at = {}, 0
function init(arguments) paths = arguments end
function request()
  at = at % #paths + 1
  return wrk.format(nil, paths[at])
end

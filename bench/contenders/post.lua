-- Sends its argument as the body of every request.
function init(arguments)
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.body = arguments[1]
end

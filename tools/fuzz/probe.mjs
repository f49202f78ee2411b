// Loaded into the service under test: tells what the process holds, once its garbage has been collected.
process.on('message', () => {
  globalThis.gc()
  // A second time for what finalizers let go of.
  setTimeout(() => {
    globalThis.gc()
    const { rss, heapUsed, external } = process.memoryUsage()
    const sockets = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
    process.send({ rss, heap: heapUsed, external, sockets })
  }, 50)
})
process.channel?.unref()
// Whoever started it is gone.
process.on('disconnect', () => process.exit())

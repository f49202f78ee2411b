/** Whether the host of a URL names this machine: `localhost`, or an address of IPv4 or IPv6 for loopback. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/i.test(host)
}

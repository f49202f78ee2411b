import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits until a running service has its first index of the catalogue.
 *
 * @throws if that takes too long, or if the service does not respond
 */
export async function whenSearchable(url: string, key?: string): Promise<void> {
  const headers = key === undefined ? {} : { 'x-api-key': key }
  for (const deadline = performance.now() + 60_000; performance.now() < deadline; await sleep(50)) {
    const response = await fetch(`${url}/v1/occupations/search?q=nurse`, { headers })
    await response.arrayBuffer()
    if (response.status === 200) return
  }
  throw new Error('the catalogue is not indexed in time')
}
